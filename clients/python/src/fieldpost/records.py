"""The API's records as types. A later version of the service may add members."""

from typing import Any, Literal, TypedDict

FieldType = Literal[
    "Text", "Email", "Textarea", "Number", "Phone", "URL", "Date", "Select", "Checkbox", "Hidden", "File"
]


class _FieldMembers(TypedDict):
    name: str
    label: str
    type: FieldType
    required: bool


class Field(_FieldMembers, total=False):
    """A field of a form; the members below are there where the field has them."""

    options: list[str]
    placeholder: str
    help: str
    accept: list[str]
    maxFiles: int
    maxBytes: int


class _FormMembers(TypedDict):
    id: str
    key: str
    name: str
    status: Literal["draft", "published", "archived"]
    isDefault: bool
    address: str | None
    fields: list[Field]
    allowedOrigins: list[str]
    redirectUrl: str
    successMessage: str
    description: str
    buttonLabel: str
    returnUrl: str
    language: Literal["en", "de", "ar"]
    retentionDays: int | None
    spam: dict[str, Any]
    reply: dict[str, Any] | None
    confirmation: bool
    senderName: str
    accent: str | None
    logo: str | None
    poweredBy: bool
    submissionCount: int
    url: str
    createdAt: str
    updatedAt: str
    publishedAt: str | None


class Form(_FormMembers, total=False):
    """A form. The last two are only for keys with webhooks:write."""

    recipients: list[dict[str, str]]
    replyTo: str | None


class StoredFile(TypedDict):
    """A file of a submission; `size` in bytes."""

    id: str
    field: str
    name: str
    size: int
    type: str
    sha256: str
    scan: Literal["none", "pending", "clean", "infected"]
    url: str


class Meta(TypedDict):
    """Where a submission came from."""

    ip: str | None
    userAgent: str | None
    origin: str | None
    referer: str | None


class Submission(TypedDict):
    """A submission with its values, all of them texts."""

    id: str
    formId: str
    data: dict[str, str]
    files: list[StoredFile]
    spam: bool
    spamReasons: list[str]
    held: str | None
    meta: Meta
    imported: bool
    test: bool
    createdAt: str


class Accepted(TypedDict):
    """The answer to a submission that was stored."""

    id: str
    formId: str
    createdAt: str


class Upload(TypedDict):
    """A file that waits for its submission: `id` is the value of the field."""

    id: str
    field: str
    name: str
    size: int
    type: str
    sha256: str


class Me(TypedDict):
    """Whose key this is, the organization's hour, and where its stream of events is."""

    organization: dict[str, str]
    key: dict[str, Any]
    hour: dict[str, Any]
    eventsUrl: str
