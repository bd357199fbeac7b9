"""The addresses of other form services (docs/moving.md). Names begin with `moved-`: see `config.pages.addresses`."""

from django.urls import path, re_path

from forms_app.addresses import SEGMENT
from submissions.hosted.moved import FormByKey, FormcarryForm, OtherAddress, Root, RootAddress, lost_form

_AT_ROOT = rf"(?P<form_id>frm_[^/]+|{SEGMENT})/?$"

urlpatterns = [
    path("", Root.as_view(), name="root"),
    re_path(r"^submit/?$", FormByKey.as_view(), name="moved-key"),  # Web3Forms, StaticForms
    re_path(r"^s/(?P<form_id>[^/]+)/?$", FormcarryForm.as_view(), name="moved-formcarry"),
    re_path(r"^p/[^/]+/f/(?P<form_id>[^/]+)/?$", OtherAddress.as_view(), name="moved-project"),  # Formspree
    re_path(rf"^ajax/{_AT_ROOT}", RootAddress.as_view(is_always_json=True), name="moved-ajax"),  # FormSubmit
    re_path(rf"^{_AT_ROOT}", RootAddress.as_view(), name="moved-id"),  # FormSubmit, Getform
    re_path(r"^(?:ajax/[^/]+|[^/]*@[^/]*)/?$", lost_form, name="moved-lost"),  # FormSubmit
]
