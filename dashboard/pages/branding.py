"""How hosted pages and mails look: the texts of a form's page with a preview, and an organization's accent and logo."""

from contextlib import suppress

from csp.decorators import csp_update
from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.utils.translation import gettext
from django.views.decorators.clickjacking import xframe_options_sameorigin
from django.views.decorators.http import require_POST, require_safe

from config.api.errors import ApiError
from dashboard.access import MemberRequest, find_form, in_organization
from dashboard.accounts.ended_sessions import keeps_typed
from dashboard.frame.limits.costs import always, while_typing
from dashboard.html_forms.branding import LONGEST, AccentForm, LogoForm, PageForm
from dashboard.pages.form_settings import edit
from forms_app.logos import remove_form_logo, set_form_logo
from forms_app.models import Form
from keys.branding.brand import brand_of
from keys.branding.changes import remove_logo, set_accent, set_logo
from keys.branding.colors import UnfitColor, check_accent
from keys.branding.logos import UnfitLogo
from keys.models import Role
from submissions.hosted import pages

framing_itself = csp_update({"frame-src": ["'self'"]})


@framing_itself
@keeps_typed
@in_organization(of_forms=True)
def form_page(request: MemberRequest, form_id: str) -> HttpResponse:
    saved = gettext("Saved. The form's page shows it now.")
    return edit(request, form_id, PageForm, "dashboard/form_look.html", saved=saved, logo_input=LogoForm())


@in_organization(of_forms=True)
@require_POST
def form_logo(request: MemberRequest, form_id: str) -> HttpResponse:
    """Set or remove the logo of a form."""
    form = find_form(request, form_id)
    entered = LogoForm(request.POST, request.FILES)
    entered.full_clean()
    try:
        if request.POST.get("do") == "remove":
            remove_form_logo(form)
        else:
            set_form_logo(form, entered.content())
    except UnfitLogo as error:
        messages.error(request, str(error))
    except ApiError as error:
        messages.error(request, error.message)
    else:
        messages.success(request, gettext("Saved. The form's page shows it now."))
    return redirect("dashboard:form-page", request.member.organization.slug, form.public_id)


@in_organization(of_forms=True)
@require_safe
@xframe_options_sameorigin
@while_typing("preview", always)
def preview(request: MemberRequest, form_id: str) -> HttpResponse:
    """Show a form's page as visitors see it, with texts and an accent of the query that are not saved yet."""
    form = find_form(request, form_id)
    for name, longest in LONGEST.items():
        if name in request.GET:
            setattr(form, name, request.GET[name].replace("\0", "")[:longest])
    form.powered_by = not request.GET.get("hides_service", "" if form.powered_by else "on")
    if request.GET.get("language") in dict(settings.LANGUAGES):
        form.language = request.GET["language"]
    with suppress(KeyError, UnfitColor):  # it is shown with the saved one
        form.accent = check_accent(request.GET["accent"])
    return pages.preview(request, form, is_thanks=request.GET.get("show") == "thanks")


@framing_itself
@in_organization(Role.ADMIN)
def brand(request: MemberRequest) -> HttpResponse:
    own = request.member.organization
    entered = AccentForm(request.POST or None, initial={"accent": own.accent})
    if request.method == "POST" and entered.is_valid():
        try:
            set_accent(own, entered.cleaned_data["accent"], by=request.member.user)
        except UnfitColor as error:
            entered.add_error("accent", str(error))
            return _show(request, accent=entered, suggestion=error.suggestion)
        messages.success(request, gettext("Saved. Pages and mails show it now."))
        return redirect("dashboard:organization-brand", own.slug)
    return _show(request, accent=entered)


@framing_itself
@in_organization(Role.ADMIN)
@require_POST
def logo(request: MemberRequest) -> HttpResponse:
    own = request.member.organization
    if request.POST.get("do") == "remove":
        remove_logo(own, by=request.member.user)
        messages.success(request, gettext("The logo is removed."))
        return redirect("dashboard:organization-brand", own.slug)
    entered = LogoForm(request.POST, request.FILES)
    entered.full_clean()
    try:
        set_logo(own, entered.content(), by=request.member.user)
    except UnfitLogo as error:
        entered.add_error("logo", str(error))
        return _show(request, logo=entered)
    messages.success(request, gettext("Saved. Pages and mails show it now."))
    return redirect("dashboard:organization-brand", own.slug)


def _show(
    request: MemberRequest, *, accent: AccentForm | None = None, logo: LogoForm | None = None, suggestion: str = ""
) -> HttpResponse:
    own = request.member.organization
    own.refresh_from_db(fields=["accent", "logo_name"])  # refused values are not shown as saved
    context = {
        "accent": accent or AccentForm(initial={"accent": own.accent}),
        "logo": logo or LogoForm(),
        "brand": brand_of(own),
        "suggestion": suggestion,
        "form": Form.objects.get(organization=own, is_default=True),
    }
    refused = any(entered is not None and entered.errors for entered in (accent, logo))
    return render(request, "dashboard/organization_brand.html", context, status=400 if refused else 200)


urlpatterns = [
    path("forms/<str:form_id>/page", form_page, name="form-page"),
    path("forms/<str:form_id>/page/preview", preview, name="form-page-preview"),
    path("forms/<str:form_id>/logo", form_logo, name="form-logo"),
    path("organization/brand", brand, name="organization-brand"),
    path("organization/logo", logo, name="organization-logo"),
]
