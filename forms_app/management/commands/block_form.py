"""`block_form FORM_ID [--reason R] [--undo]`."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from config.base.ids import InvalidId, Prefix, decode_id
from forms_app.models import Form
from forms_app.moderation.blocking import block_form, unblock_form
from keys.management.operator_command import OperatorCommand


class Command(OperatorCommand):
    help = "Block one form: its page is not available, and submissions to it are refused. Nothing is deleted."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("form_id", metavar="FORM_ID", help="such as frm_01jd…")
        parser.add_argument("--reason", default="", help="shown to the organization's members")
        parser.add_argument("--undo", action="store_true", help="let it take submissions again")

    def handle(self, *args: Any, **options: Any) -> None:
        form = find_form(options["form_id"])
        if options["undo"]:
            unblock_form(form, by=None)
            self.stdout.write(f"{form.name} takes submissions again.")
            return
        try:
            block_form(form, reason=options["reason"], by=None)
        except ValueError as error:
            raise CommandError(str(error)) from None
        self.stdout.write(f"{form.name} is blocked. Undo it with block_form {form.public_id} --undo.")


def find_form(form_id: str) -> Form:
    """Return the form with this id. Raises CommandError if there is none."""
    try:
        return Form.objects.select_related("organization").get(pk=decode_id(Prefix.FORM, form_id))
    except (InvalidId, Form.DoesNotExist):
        raise CommandError(f"There is no form with the id {form_id!r}.") from None
