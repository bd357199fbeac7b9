"""Content negotiation of the API: none (docs/contract.md 1)."""

from typing import Any

from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.request import Request


class IgnoreAccept(BaseContentNegotiation):
    """Answers in the view's first format whatever `Accept` says, so that there is no 406."""

    def select_renderer(self, request: Request, renderers: Any, format_suffix: Any = None) -> Any:
        return renderers[0], renderers[0].media_type
