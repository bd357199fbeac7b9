"""The addresses of other form services (docs/moving.md). Names begin with `moved-`: see `config.pages.addresses`."""

from django.urls import path, re_path

from submissions.hosted.moved import FormByKey, FormcarryForm, OtherAddress, Root, lost_form

_BY_ID = r"(?P<form_id>frm_[^/]+)/?$"

urlpatterns = [
    path("", Root.as_view(), name="root"),
    re_path(r"^submit/?$", FormByKey.as_view(), name="moved-key"),  # Web3Forms, StaticForms
    re_path(r"^s/(?P<form_id>[^/]+)/?$", FormcarryForm.as_view(), name="moved-formcarry"),
    re_path(r"^p/[^/]+/f/(?P<form_id>[^/]+)/?$", OtherAddress.as_view(), name="moved-project"),  # Formspree
    re_path(rf"^ajax/{_BY_ID}", OtherAddress.as_view(is_always_json=True), name="moved-ajax"),  # FormSubmit
    re_path(rf"^{_BY_ID}", OtherAddress.as_view(), name="moved-id"),  # FormSubmit, Getform
    re_path(r"^(?:ajax/[^/]+|[^/]*@[^/]*|[0-9a-f]{32})/?$", lost_form, name="moved-lost"),  # FormSubmit
]
