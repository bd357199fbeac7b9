"""Any document that a builder can make survives into another organization (docs/contract.md 4.15)."""

from typing import Any

import hypothesis
from hypothesis import strategies as st

from tests.api.forms.documents import SECRET, get, put, state_of
from tests.services.client import Client
from tests.support.browser import person_of
from tests.support.tenants import make_tenant

# Forms as people make them: texts in any script, every type of field, checks against spam, replies.
texts = st.text(st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="{}<>."), max_size=40)
names = texts.filter(str.strip)
labels = st.fixed_dictionaries({"label": names, "required": st.booleans()}, optional={"help": texts})
options = st.fixed_dictionaries({"options": st.lists(names, min_size=1, max_size=4)})


nothing: st.SearchStrategy[dict[str, Any]] = st.just({})


def of_type(name: str, more: st.SearchStrategy[dict[str, Any]] = nothing) -> st.SearchStrategy[dict[str, Any]]:
    return st.builds(lambda label, extra: {"type": name, **label, **extra}, labels, more)


kinds = st.one_of(
    *(of_type(name) for name in ("Text", "Textarea", "Number", "Phone", "URL", "Date", "Hidden")),
    of_type("Text", st.fixed_dictionaries({"placeholder": texts})),
    of_type("Select", options),
    of_type("Checkbox", st.one_of(nothing, options)),
    of_type("File", st.fixed_dictionaries({"accept": st.lists(st.sampled_from(["image/*", ".PDF", "text/csv"]))})),
)
email = st.just({"name": "mail", "label": "Mail", "type": "Email", "required": True})
captchas = st.one_of(
    st.fixed_dictionaries({"captcha": st.none(), "siteKey": texts}),
    st.fixed_dictionaries(
        {"captcha": st.sampled_from(["turnstile", "hcaptcha"]), "siteKey": names, "secret": st.just(SECRET)}
    ),
)
spam_rules = st.builds(
    lambda rules, captcha: {**rules, **captcha},
    st.fixed_dictionaries(
        {},
        optional={
            "minSeconds": st.one_of(st.none(), st.integers(0, 60)),
            "maxLinks": st.one_of(st.none(), st.integers(0, 1000)),
            "blockedWords": st.lists(names, max_size=3),
            "proofOfWork": st.just(value=True),
        },
    ),
    captchas,
)
urls = st.sampled_from(["", "https://example.com/thanks?a=1#b", "http://localhost:8000/"])
replies = st.builds(lambda subject, text: {"enabled": False, "subject": subject, "text": text}, names, names)
documents = st.fixed_dictionaries(
    {"name": names, "fields": st.builds(lambda first, more: [first, *more], email, st.lists(kinds, max_size=5))},
    optional={
        "status": st.sampled_from(["draft", "published"]),
        "allowedOrigins": st.lists(st.sampled_from(["https://a.example", "HTTPS://*.B.example:443"])),
        "redirectUrl": urls,
        "successMessage": texts,
        "description": st.builds("\r\n".join, st.lists(texts)),
        "buttonLabel": texts,
        "returnUrl": urls,
        "language": st.sampled_from(["en", "de", "ar"]),
        "retentionDays": st.one_of(st.none(), st.integers(1, 3650)),
        "spam": spam_rules,
        "reply": st.one_of(st.none(), replies),
        "senderName": st.sampled_from(["", "Ada", "Ärzte & Söhne", "  two  words "]),
        "accent": st.sampled_from([None, "#2563EB"]),
        "poweredBy": st.booleans(),
    },
)


def test_document__of_any_form__survives_into_another_organization(api: Client) -> None:
    first, second = make_tenant(), make_tenant()
    owner = person_of(first).email

    @hypothesis.settings(max_examples=60, deadline=None, derandomize=True, database=None)
    @hypothesis.given(documents)
    def check(document: dict[str, Any]) -> None:
        made = put(api, first, {**document, "recipients": [{"email": owner}], "replyTo": owner})
        assert made.status in (200, 201), made.text
        read = get(api, first).json()["data"]
        secret = {"secret": SECRET} if read["spam"]["secret"] else {}
        there = put(api, second, {**read, "spam": {**read["spam"], **secret}})
        assert there.status in (200, 201), there.text
        other = get(api, second).json()["data"]
        statuses = {"recipients": [{"email": owner, "status": "pending"}]}
        assert other == {**read, **statuses}
        before = state_of(second)
        assert put(api, second, other).status == 200
        assert state_of(second) == before

    check()
