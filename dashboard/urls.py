"""The addresses of the dashboard. Each module of views lists its own; pages of an organization are below its slug."""

from django.conf import settings
from django.urls import include, path

from dashboard.frame.design import showcase
from dashboard.pages import (
    account,
    audit,
    branding,
    deliveries,
    exports,
    find,
    form_builder,
    form_replies,
    form_settings,
    forms,
    home,
    invitations,
    keys,
    members,
    organizations,
    plan,
    refusals,
)
from dashboard.pages.importing import views as importing
from dashboard.pages.laptop_mails import views as laptop_mails
from dashboard.pages.new_forms import from_file as new_forms_from_files
from dashboard.pages.new_forms import views as new_forms
from dashboard.pages.overview import form as form_overview
from dashboard.pages.overview import organization as overview
from dashboard.pages.receivers import making as new_receivers
from dashboard.pages.receivers import views as receivers
from dashboard.pages.submissions import bulk, choosing_columns, files, listing, mode, one

app_name = "dashboard"
in_organization = [
    path("", include(module))
    for module in (
        overview,
        find,
        new_forms_from_files,  # these two before forms, whose addresses match any last segment
        new_forms,
        forms,
        form_overview,
        form_builder,
        form_settings,
        form_replies,
        importing,
        branding,
        exports,  # before submissions, whose addresses match any last segment
        listing,
        bulk,
        choosing_columns,
        mode,
        files,
        one,  # last of these
        deliveries,
        new_receivers,  # before receivers, whose addresses match any last segment
        receivers,
        refusals,
        keys,
        members,
        plan,
        audit,
        organizations,
    )
]
urlpatterns = [
    path("", include(home)),
    path("", include(account)),
    path("organizations/new", organizations.new_organization, name="organization-new"),
    path("", include(invitations)),
    path("", include(laptop_mails)),
    path("o/<slug:slug>/", include(in_organization)),
]
if settings.DEBUG:
    urlpatterns.append(path("", include(showcase)))
