"""Response headers and error responses, which all operations share (docs/contract.md 1)."""

from collections.abc import Iterable
from typing import Any

Schema = dict[str, Any]

# Status -> the name of its response, when it is sent, and the headers that only it has.
ERRORS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "400": ("InvalidRequest", "A parameter, a field or the body is invalid; `details` says which.", ()),
    "401": ("InvalidAccessKey", "The access key is missing or invalid.", ("WWW-Authenticate",)),
    "403": (
        "NotAllowed",
        "The key may not do this, or the object belongs to another organization.",
        ("X-Required-Permission",),
    ),
    "404": ("NotFound", "There is no object with this id.", ()),
    "405": ("MethodNotAllowed", "The path does not support this method.", ("Allow",)),
    "409": ("Conflict", "The state of the object does not allow this.", ()),
    "412": ("PreconditionFailed", "`If-Match` or `If-None-Match` does not hold.", ()),
    "413": ("TooLarge", "The body is larger than 256 KiB, or the plan's storage is full.", ()),
    "415": ("UnsupportedMediaType", "The body is not JSON.", ()),
    "429": ("TooManyRequests", "A limit is used up. Wait for `Retry-After` seconds.", ("Retry-After",)),
    "500": ("InternalError", "A bug. The message has the request id; report it.", ()),
    "503": (
        "Unavailable",
        "The service is busy or restarting. Try again after `Retry-After` seconds.",
        ("Retry-After",),
    ),
}
WRITING_ERRORS = ("409", "413", "415")  # never for a GET
PUT_ERRORS = ("412",)


def _header(description: str, *, always: bool = True, **schema: Any) -> Schema:
    """Return a header; `always`: on each response that lists it."""
    return {"description": description, "required": always, "schema": schema}


HEADERS = {
    "X-RateLimit-Limit": _header("Requests allowed in this window.", type="integer", minimum=1),
    "X-RateLimit-Remaining": _header("Requests left in this window.", type="integer", minimum=0),
    "X-RateLimit-Reset": _header("The end of this window, in seconds since 1970 (UTC).", type="integer", minimum=0),
    "X-Request-Id": _header("Identifies this request in the logs. Yours, if you sent one.", type="string", minLength=1),
    "Retry-After": _header("Seconds to wait.", type="integer", minimum=1),
    "Allow": _header("The methods that the path supports.", type="string", minLength=1),
    "WWW-Authenticate": _header("The scheme: `AccessKey`.", type="string", minLength=1),
    "Cache-Control": _header("No cache keeps the response.", type="string", const="no-store"),
    "ETag": _header("Changes whenever the response does; for `If-None-Match`.", type="string", minLength=1),
    "Location": _header("The path of the new object.", type="string", pattern="^/(api|files)/.+$"),
    "X-Required-Permission": _header(
        "The permission that the key lacks, if that is why.", always=False, type="string", minLength=1
    ),
}
ETAG_OF_PUT = _header("The new one, for `If-Match`; a dry run has none.", always=False, type="string", minLength=1)
EVERYWHERE = ("X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "X-Request-Id", "Cache-Control")
IF_NONE_MATCH = {
    "name": "If-None-Match",
    "in": "header",
    "description": "The `ETag` of the response that you have. If it has not changed, the answer is 304 without a body.",
    "schema": {"type": "string"},
}
PRECONDITIONS = [
    {
        "name": "If-Match",
        "in": "header",
        "description": "The `ETag` of the object that you change, or `*` for any. Another one is 412.",
        "schema": {"type": "string"},
    },
    {
        "name": "If-None-Match",
        "in": "header",
        "description": "`*` only creates: an object that is there is 412.",
        "schema": {"type": "string"},
    },
]


def header_references(names: Iterable[str]) -> Schema:
    """Return `headers` of a response, by reference to the shared ones."""
    return {name: {"$ref": f"#/components/headers/{name}"} for name in names}


def error_responses() -> Schema:
    """Return the shared responses by name."""
    return {
        name: {
            "description": description,
            "headers": header_references([*EVERYWHERE, *also]),
            "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
        }
        for name, description, also in ERRORS.values()
    }


def error_references(method: str) -> Schema:
    """Return the error responses of an operation with this method, by status."""
    return {
        status: {"$ref": f"#/components/responses/{name}"}
        for status, (name, _, _) in ERRORS.items()
        if (method != "get" or status not in WRITING_ERRORS) and (method == "put" or status not in PUT_ERRORS)
    }


def error_schemas() -> Schema:
    """Return the schemas of the error envelope."""
    text = {"type": "string", "minLength": 1}
    message = {**text, "description": "What is wrong and what to do, for people."}
    details = {"type": "array", "items": {"$ref": "#/components/schemas/ErrorDetail"}, "minItems": 1}
    required = {
        "success": {"type": "boolean", "description": "Always false."},
        "error": {**text, "description": "The kind of error, for programs: `validation_error` and others."},
        "message": message,
    }
    optional = {"details": {**details, "description": "Each invalid value; only with `validation_error`."}}
    detail = {
        "field": {"type": "string", "description": "The name of the field or parameter, such as `fields.0.label`."},
        "code": {**text, "description": "What is wrong, for programs: `required`, `invalid_id` and others."},
        "message": message,
    }
    return {
        "Error": _object("The body of every error.", required, optional),
        "ErrorDetail": _object("One invalid value.", detail, {}),
    }


def _object(description: str, required: Schema, optional: Schema) -> Schema:
    properties = required | optional
    return {"type": "object", "description": description, "properties": properties, "required": [*required]}
