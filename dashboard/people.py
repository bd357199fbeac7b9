"""Setting a password by mail."""

from collections.abc import Iterable

from django.contrib.auth.forms import PasswordResetForm

from keys.models import User


class ResetForm(PasswordResetForm):
    """Django's form, also for people who have no password yet: `create_organization` makes owners without one."""

    def get_users(self, email: str) -> Iterable[User]:
        """Return the active user of an address."""
        return User.objects.filter(email__iexact=email, is_active=True)
