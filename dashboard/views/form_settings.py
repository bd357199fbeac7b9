"""One form: what to paste into a page, and what keeps spam out."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from config.api.errors import ApiError
from config.api.ids import Prefix
from config.api.ownership import path_id
from dashboard.inputs.spam_protection import SpamProtectionForm
from forms_app import snippets
from forms_app.forms import change_spam_protection
from forms_app.models import Form
from forms_app.spam_protection import SpamProtection
from keys.models import User


def _own_form(request: HttpRequest, form_id: str) -> Form:
    """Return a form of one of the person's organizations. Raises Http404 for every other, foreign ones too."""
    try:
        pk = path_id(Prefix.FORM, form_id)
    except ApiError:
        raise Http404 from None
    user: User = request.user  # type: ignore[assignment]  # login_required: not anonymous
    form = Form.objects.filter(pk=pk, organization__memberships__user=user).first()
    if form is None:
        raise Http404
    return form


@login_required
@require_safe
def form_page(request: HttpRequest, form_id: str) -> HttpResponse:
    """Show the snippets and the settings."""
    form = _own_form(request, form_id)
    return _show(request, form, SpamProtectionForm(protection=SpamProtection.of(form.spam_protection)))


@login_required
@require_POST
def change_spam(request: HttpRequest, form_id: str) -> HttpResponse:
    """Save what keeps spam out."""
    form = _own_form(request, form_id)
    entered = SpamProtectionForm(request.POST, protection=SpamProtection.of(form.spam_protection))
    if not entered.is_valid():
        return _show(request, form, entered, status=400)
    try:
        change_spam_protection(form, entered.as_protection())
    except ApiError as error:
        entered.add_error(None, error.message)
        return _show(request, form, entered, status=error.status)
    messages.success(request, "Saved. It holds from the next submission on.")
    return redirect("dashboard:form", form_id=form.public_id)


def _show(request: HttpRequest, form: Form, spam_form: SpamProtectionForm, *, status: int = 200) -> HttpResponse:
    key = snippets.publishable_key(form.organization)
    context = {"form": form, "spam_form": spam_form, "has_key": bool(key), "snippets": []}
    if key:
        context["snippets"] = [
            ("Script tag", "Before </body>. It takes care of every form on the page.", snippets.script_tag(form, key)),
            (
                "Script tag, pinned",
                "This very version, checked by its hash (SRI). It gets no fixes until you paste a newer one.",
                snippets.script_tag(form, key, pinned=True),
            ),
            ("Plain HTML", "Works without any script.", snippets.plain_html(form)),
            ("fetch", "From your own JavaScript.", snippets.fetch_call(form, key)),
            ("curl", "From a shell.", snippets.curl_command(form, key)),
        ]
    return render(request, "dashboard/form.html", context, status=status)
urlpatterns = []
