"""Receivers that are no webhooks: creating and changing one, and its config."""

from typing import Any

from django.utils.translation import gettext

from config.api.errors import Conflict, Detail, ValidationFailed
from config.secrets.encryption import CannotDecrypt
from forms_app.models import Form
from forms_app.texts.placeholders import TemplateRefused
from forms_app.texts.placeholders import refuse_undeclared_names as refuse_undeclared
from keys.models import Organization
from submissions.json_text import dump_json
from webhooks.channels.receiver_status import ACTIVE, NEEDS_ATTENTION, record
from webhooks.kinds.http_template import names_in
from webhooks.kinds.kind import Config, Kind
from webhooks.kinds.registry import KINDS
from webhooks.kinds.webhook import EVERY_KIND
from webhooks.models import Receiver
from webhooks.receivers.actions import adding, change_mode, changing, check_form, move, recorded

MAX_DESTINATIONS = 100  # of an organization


def check_new_destination(form: Form | None, kind: str, config: Any) -> Config:
    """
    Return the checked config of a new destination.

    Raises Conflict for an archived form, ValidationFailed for a config that its kind refuses.
    """
    check_form(form)
    return _checked(form, kind, config)


def add_destination(
    *,
    organization: Organization,
    form: Form | None,
    kind: str,
    name: str,
    config: Config,
    mode: str = Receiver.Mode.LIVE,
) -> Receiver:
    """
    Store a destination whose config `check_new_destination` returned.

    Raises Conflict for too many, NotFound for a form that was erased meanwhile.
    """
    with adding(form):
        Organization.objects.select_for_update(no_key=True).get(pk=organization.pk)
        if Receiver.objects.destinations().filter(organization=organization).count() >= MAX_DESTINATIONS:
            text = gettext("An organization has at most %(most)s destinations. Delete one first.")
            raise Conflict(text % {"most": MAX_DESTINATIONS})
        made = Receiver.objects.create(
            organization=organization, form=form, kind=kind, name=name, config=dump_json(config), secret="", mode=mode
        )
        record(made, "created", {}, recorded(made))
    return made


def change_destination(destination: Receiver, values: dict[str, Any]) -> Receiver:
    """
    Change `name`, `config` (as a whole), `mode` or `status`.

    Raises what `check_new_destination` raises about a config, NotFound if it was deleted meanwhile.

    A new config releases what a destination that needed attention has held. Disabling cancels pending and held
    deliveries.
    """
    config = _checked(destination.form, destination.kind, values["config"]) if "config" in values else None
    with changing(destination) as found:
        found.name = values.get("name", found.name)
        if config is not None:
            found.config, found.quiet_until = dump_json(config), None  # it was another receiver's wish
        found.save(update_fields=["name", "config", "quiet_until"])
        change_mode(found, values.get("mode", found.mode))
        is_corrected = config is not None and found.status == NEEDS_ATTENTION
        move(found, values.get("status", ACTIVE if is_corrected else found.status))
    return found


def config_of(destination: Receiver) -> Config:
    """Return the config as it is shown: each secret is a hint. {} if it cannot be read: that must not stop a list."""
    try:
        return EVERY_KIND[destination.kind].shown(destination.settings())
    except (KeyError, CannotDecrypt):
        return {}


def refuse_undeclared_names(form: Form | None, kind: Kind, config: Config) -> None:
    """Raise ValidationFailed for a template with a name that the form does not declare, if it declares any."""
    template = kind.template_of(config)
    if form is not None and template is not None:
        try:
            refuse_undeclared(list(names_in(template)), {field["name"] for field in form.fields})
        except TemplateRefused as error:
            raise ValidationFailed([Detail("config.template", error.code, str(error))]) from None


def _checked(form: Form | None, kind: str, config: Any) -> Config:
    found = KINDS[kind]
    read = found.read(config)
    refuse_undeclared_names(form, found, read)
    found.check_addresses(read)
    return read
