"""Parts of the settings of accounts (https://docs.allauth.org/en/latest/account/configuration.html)."""

PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "dashboard.accounts.password_strength.StrengthValidator"},
]
# For a second step, `key` is the account: only someone with the password gets there. For passwords, the adapter makes
# it client and account, so that strangers cannot lock somebody out. Beyond a "doubt", a login needs a proof.
RATE_LIMITS = {
    "login": "120/m/ip",  # an office behind one address; wrong passwords have the limits below
    "login_failed": "10/5m/key",
    "login_doubt_address": "10/m/ip",
    "login_doubt_account": "20/h/key",
    "login_proof_code": "3/h/key",
    "step_up_code": "5/h/key",
    "confirm_email": "3/m/key,20/h/key",  # codes mailed to one address
}
FORMS = {
    "login": "dashboard.html_forms.account.LoginForm",
    "signup": "dashboard.html_forms.account.SignupForm",
    "reset_password": "dashboard.html_forms.account.ResetPasswordForm",
    "reset_password_from_key": "dashboard.html_forms.account.ResetPasswordKeyForm",
    "add_email": "dashboard.html_forms.account.AddEmailForm",
    "change_password": "dashboard.html_forms.account.ChangePasswordForm",
    "set_password": "dashboard.html_forms.account.SetPasswordForm",
}
SECOND_STEP_FORMS = {
    "authenticate": "dashboard.html_forms.account.AuthenticateForm",
    "reauthenticate": "dashboard.html_forms.account.ReauthenticateCodeForm",
    "activate_totp": "dashboard.html_forms.account.ActivateTOTPForm",
    "add_webauthn": "dashboard.html_forms.account.AddWebAuthnForm",
}
