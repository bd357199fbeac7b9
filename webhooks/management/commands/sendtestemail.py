"""`sendtestemail ADDRESS`: Django's, with the answer of the mail server in one line."""

from typing import Any

from django.conf import settings
from django.core.mail import get_connection
from django.core.mail.backends.smtp import EmailBackend
from django.core.management.base import CommandError
from django.core.management.commands import sendtestemail


class Command(sendtestemail.Command):
    def handle(self, *args: Any, **options: Any) -> None:
        server = f"{settings.EMAIL_HOST}:{settings.EMAIL_PORT}"
        try:
            super().handle(*args, **options)
        except OSError as error:  # SMTPException is one
            sender = settings.DEFAULT_FROM_EMAIL
            raise CommandError(f"{server} did not take the mail from {sender}: {error}") from None
        if isinstance(get_connection(), EmailBackend):  # others print mails
            self.stdout.write(f"{server} took the mail.")
