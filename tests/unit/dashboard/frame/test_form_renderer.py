"""How forms are rendered (`dashboard.frame.form_renderer`)."""

import pytest
from allauth.account.forms import LoginForm, ReauthenticateForm
from allauth.mfa.base.forms import AuthenticateForm
from django import forms

from dashboard.html_forms.forms import RecipientsForm
from forms_app.models import Form
from keys.models import User

FORMS = [LoginForm(), ReauthenticateForm(user=User()), AuthenticateForm(user=User())]


@pytest.mark.parametrize("form", FORMS, ids=lambda form: type(form).__name__)
def test_form_of_allauth__rendered__repeats_no_label_as_a_placeholder(form: forms.Form) -> None:
    assert ("<label" in str(form), "placeholder" in str(form)) == (True, False)


def test_form_of_ours__rendered__keeps_its_examples() -> None:
    assert 'placeholder="you@example.com"' in str(RecipientsForm(form=Form()))
