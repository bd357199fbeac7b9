"""Step-up by a mailed code, for those who have nothing else to prove with (docs/contract.md 2.40)."""

from typing import Any

from allauth.account.adapter import get_adapter
from allauth.account.forms import BaseConfirmCodeForm
from allauth.account.internal.flows.code_verification import AbstractCodeVerificationProcess
from allauth.account.internal.flows.login import record_authentication
from allauth.account.views import BaseReauthenticateView, password_set
from allauth.core import ratelimit
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import path, reverse
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache

from dashboard.access import person
from dashboard.accounts.fresh_login import fresh_to_open

STATE = "step_up_code"  # session key; also the rate of its mails, in ACCOUNT_RATE_LIMITS
TRIES = 3  # with one code
LASTS = 900  # seconds, as the mail says
MAIL_CODE = "mail_code"  # the button that asks for one


class CodeByMail(AbstractCodeVerificationProcess):
    """The code of a session, which allauth counts the tries of."""

    def __init__(self, request: HttpRequest, state: dict[str, Any]) -> None:
        super().__init__(max_attempts=TRIES, timeout=LASTS, state=state, user=person(request))
        self._request = request

    def persist(self) -> None:
        self._request.session[STATE] = self.state

    def send(self) -> None:
        user = person(self._request)
        self.state["code"] = get_adapter().generate_login_code()
        get_adapter().send_mail("account/email/step_up", user.email, {"code": self.state["code"], "user": user})

    def abort(self) -> None:
        self._request.session.pop(STATE, None)


def _present_code(request: HttpRequest) -> CodeByMail | None:
    state = request.session.get(STATE)
    found: CodeByMail | None = CodeByMail(request, state).abort_if_invalid() if state else None
    return found


class MailedStepUp(BaseReauthenticateView):
    """Mails a code when its button is pressed, and takes it."""

    form_class = BaseConfirmCodeForm
    template_name = "account/reauthenticate_by_mail.html"

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if MAIL_CODE not in request.POST and _present_code(request):
            response: HttpResponse = super().post(request, *args, **kwargs)
            return response
        if ratelimit.consume(request, action=STATE, key=str(request.user.pk)):
            process = CodeByMail(request, CodeByMail.initial_state(None))
            process.send()
            process.persist()
        else:
            messages.error(request, gettext("You asked for many codes. Wait an hour, then ask for another one."))
        return redirect(self.passthrough_next_url(request.path))

    def get_form_kwargs(self) -> dict[str, Any]:
        process = _present_code(self.request)
        return {**super().get_form_kwargs(), "code": process.code if process else ""}

    def form_valid(self, form: BaseConfirmCodeForm) -> HttpResponse:
        self.request.session.pop(STATE)
        record_authentication(self.request, self.request.user, method="mailed_code", reauthenticated=True)
        response: HttpResponse = super().form_valid(form)
        return response

    def form_invalid(self, form: BaseConfirmCodeForm) -> HttpResponse:
        process = _present_code(self.request)
        if process and not process.record_invalid_attempt():
            messages.error(self.request, gettext("Too many wrong codes. Ask for a new one."))
            return redirect(self.passthrough_next_url(self.request.path))
        response: HttpResponse = super().form_invalid(form)
        return response

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return {
            **super().get_context_data(**kwargs),
            "is_sent": _present_code(self.request) is not None,
            "minutes": LASTS // 60,
        }


def mailed_step_up() -> dict[str, str]:
    """Return this way for allauth's list of ways to reauthenticate."""
    return {"id": STATE, "description": gettext("Use a mailed code"), "url": reverse("reauthenticate-by-mail")}


urlpatterns = [
    path(
        "reauthenticate/mail/",
        never_cache(login_required(MailedStepUp.as_view())),
        name="reauthenticate-by-mail",
    ),
    # A first password is a way in that lasts. allauth asks nothing before it.
    path("password/set/", never_cache(login_required(fresh_to_open(password_set))), name="account_set_password"),
]
