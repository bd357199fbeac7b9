"""The links in mails: to confirm an address, and to stop a form's mails."""

import re
from urllib.parse import urlsplit

from tests.services.client import Answer, Client
from tests.services.receivers import Mail


def text_part(mail: Mail) -> str:
    body = mail.message.get_body(("plain",))
    assert body is not None
    return str(body.get_content())


def link_in(mail: Mail, kind: str = "confirm") -> str:
    """Return the path of the link to confirm or to stop."""
    found = re.search(rf"https?://\S+/mails/{kind}/\S+", text_part(mail))
    assert found, text_part(mail)
    return urlsplit(found[0]).path


def press(api: Client, mail: Mail, kind: str = "confirm", data: str = "") -> Answer:
    """Press the one button of the page that a mail links to: no cookie, no token."""
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    return api.post(link_in(mail, kind), data=data, headers=headers)
