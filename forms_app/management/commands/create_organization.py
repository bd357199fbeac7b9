"""`create_organization NAME --plan P --owner EMAIL`."""

from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.management.base import CommandError, CommandParser
from django.core.validators import validate_email
from django.db import transaction

from forms_app.sign_up import create_organization
from keys.management.operator_command import OperatorCommand
from keys.models import User
from keys.organizations import parse_plan


class Command(OperatorCommand):
    help = "Create an organization with its default form and its publishable keys."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name")
        parser.add_argument("--plan", default=settings.DEFAULT_PLAN, help="Free, Pro or Enterprise, in any case")
        parser.add_argument("--owner", required=True, metavar="EMAIL", help="an unknown address gets an account")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            validate_email(options["owner"])
            plan = parse_plan(options["plan"])
            with transaction.atomic():  # if the name is taken, no account is created
                known = User.objects.filter(email=options["owner"].lower()).first()
                owner = known or User.objects.create_user(options["owner"])
                organization = create_organization(name=options["name"], plan=plan, owner=owner)
        except ValidationError:
            raise CommandError(f"{options['owner']!r} is not an email address.") from None
        except ValueError as error:
            raise CommandError(str(error)) from None
        self.stdout.write(organization.slug)
