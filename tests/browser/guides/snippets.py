"""The blocks of code in a guide, with a running service's address, form and key in place of the examples'."""

import re

from tests.checks.sources import ROOT
from tests.support.chromium.visitor import Visitor

BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.DOTALL | re.MULTILINE)
FIELDS = [
    {"name": "name", "label": "Name", "type": "Text", "required": True},
    {"name": "email", "label": "Email", "type": "Email", "required": True},
    {"name": "message", "label": "Message", "type": "Textarea", "required": True},
]
VALUES = {"name": "Ada", "email": "ada@example.com", "message": "Hello"}


def blocks(guide: str) -> list[tuple[str, str, str]]:
    """Return `(language, file, code)` of each block; the file is empty where none is named."""
    return BLOCK.findall((ROOT / "docs" / f"{guide}.md").read_text())


def with_form(visitor: Visitor) -> Visitor:
    """Give the visitor a form with the fields of the guides."""
    visitor.form_id = visitor.tenant.form(fields=FIELDS)
    return visitor


def filled_in(code: str, visitor: Visitor) -> str:
    """Return the code as a reader would make it, by the guide's own words."""
    code = re.sub(r"https://forms\.example\.com|http://127\.0\.0\.1:8000", visitor.service_url, code)
    return code.replace("frm_…", visitor.form_id).replace("fp_pub_…", visitor.tenant.publishable)
