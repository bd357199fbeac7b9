"""Logins of programs on other machines."""

from django.db import models

from keys.models.owners import Organization, User


class DeviceLogin(models.Model):
    """
    A login that a program began, and that a person decides about in a browser (RFC 8628). Only hashes of its codes are
    stored. Without an organization it is undecided, or denied.
    """

    device_digest = models.CharField(max_length=64, unique=True, editable=False, help_text="Of the program's code.")
    user_digest = models.CharField(max_length=64, unique=True, editable=False, help_text="Of the person's code, keyed.")
    machine = models.CharField(max_length=100, help_text="As the program names it.")
    address = models.CharField(max_length=45, help_text="The IP address of the program.")
    expires_at = models.DateTimeField(db_index=True)
    polled_at = models.DateTimeField(null=True, blank=True)
    decided_at = models.DateTimeField(null=True, blank=True)
    user = models.ForeignKey(User, null=True, blank=True, on_delete=models.CASCADE, related_name="+")
    organization = models.ForeignKey(Organization, null=True, blank=True, on_delete=models.CASCADE, related_name="+")

    class Meta:
        constraints = [
            models.CheckConstraint(
                name="device_login_is_decided_by_a_person",
                condition=models.Q(decided_at=None, user=None, organization=None)
                | models.Q(decided_at__isnull=False, user__isnull=False),
            )
        ]

    def __str__(self) -> str:
        return self.machine
