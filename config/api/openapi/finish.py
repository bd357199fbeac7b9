"""The last steps over the document that drf-spectacular makes: a hook of `SPECTACULAR_SETTINGS`."""

import json
import re
from collections.abc import Iterator
from typing import Any

from drf_spectacular.plumbing import load_enum_name_overrides

from config.api.openapi.headers import (
    ETAG_OF_PUT,
    EVERYWHERE,
    HEADERS,
    IF_NONE_MATCH,
    PRECONDITIONS,
    error_references,
    error_responses,
    error_schemas,
    header_references,
)
from config.api.openapi.resources import TAGS, resource_of
from config.api.schema import Schema, id_schema
from config.base.ids import Prefix

NOT_A_LETTER = re.compile(r"\W")
METHODS = ("get", "post", "put", "patch", "delete")
OPTIONAL_BODIES = ("replayDeliveries", "replayDestinationDeliveries")
PATH_PREFIXES = {
    "forms": Prefix.FORM,
    "submissions": Prefix.SUBMISSION,
    "imports": Prefix.IMPORT,
    "keys": Prefix.ACCESS_KEY,
    "webhooks": Prefix.WEBHOOK,
    "destinations": Prefix.DESTINATION,
    "deliveries": Prefix.DELIVERY,
}
PARAMETER_TEXTS = {
    "formId": "Only those of this form.",
    "from": "From this day (UTC) or time on.",
    "kind": "Only those of this kind.",
    "mode": "Only those of this mode.",
    "q": "Only those with this text in a value; upper and lower case are equal.",
    "status": "Only those with this status.",
    "to": "Up to this day (UTC) or time, itself included.",
}
ID_PATTERN = re.compile(r"\^([a-z]+)_\[")
EXAMPLE_SUFFIX = "01jd6a3v9qe8rts4xk2m5n7wpb"
ENUM_MARK = "x-spec-enum-id"  # of drf-spectacular, on each list of choices
CHOICE = re.compile(r"^\* `(?P<value>[^`]+)` - (?P<label>.+)$", re.MULTILINE)


def only_documented_paths(
    endpoints: list[tuple[str, str, str, Any]], **_kwargs: Any
) -> list[tuple[str, str, str, Any]]:
    """Keep the paths of the API, without the schema and its page."""
    return [e for e in endpoints if e[0].startswith("/api/") and e[0] not in ("/api/schema", "/api/docs")]


def finish_schema(result: Schema, **_kwargs: Any) -> Schema:
    """Add errors, headers, patterns of ids and tags. Name the enums. Leave out marks that only mean something here."""
    components = result["components"]
    for path, method, operation in operations(result):
        _finish_operation(path, method, operation)
    _name_pages(components["schemas"])
    _name_enums(result, components["schemas"])
    components["schemas"] |= error_schemas()
    components["responses"] = error_responses()
    components["headers"] = HEADERS
    result["tags"] = [{"name": name, "description": text} for name, text in TAGS.items()]
    for schema in _objects(components["schemas"]):
        _give_example(schema)
        for member in schema.get("properties", {}).values():
            _say_default(member)
    for schema in _objects(result):
        schema.pop(ENUM_MARK, None)
        if schema.get("readOnly") is True:  # for bodies that are records too; generators double such schemas
            del schema["readOnly"]
    return result


def operations(document: Schema) -> Iterator[tuple[str, str, Schema]]:
    """Yield path, method and operation."""
    for path, item in document["paths"].items():
        for method in METHODS:
            if method in item:
                yield path, method, item[method]


def _finish_operation(path: str, method: str, operation: Schema) -> None:
    for parameter in operation.get("parameters", []):
        _finish_parameter(path, parameter)
    is_object = path.endswith(("{id}", "{key}"))
    if is_object and method == "put":
        operation["parameters"] += PRECONDITIONS
    if is_object and method == "get":
        operation["parameters"].append(IF_NONE_MATCH)
        operation["responses"]["304"] = {"description": "The object is as the client has it."}
    for status, response in operation["responses"].items():
        response["description"] = response["description"] or "Success."
        also = ["Location"] if status == "201" else []
        also += ["ETag"] if "304" in operation["responses"] else []
        if is_object and method == "put":
            response["headers"] = {"ETag": ETAG_OF_PUT}
        response["headers"] = {**header_references([*EVERYWHERE, *also]), **response.get("headers", {})}
    operation["responses"] |= error_references(method)
    if "requestBody" in operation:
        operation["requestBody"]["required"] = operation["operationId"] not in OPTIONAL_BODIES


def _finish_parameter(path: str, parameter: Schema) -> None:
    """Complete a parameter; these names have the same meaning in every operation."""
    name = parameter["name"]
    if parameter["in"] == "path" and name == "key":
        parameter["schema"] = {"type": "string", "pattern": "^[a-z0-9-]{1,64}$"}
        parameter["description"] = f"The key of the {resource_of(path).one}."
    elif parameter["in"] == "path":
        kind = path.partition("/{")[0].rpartition("/")[2]
        parameter["schema"] = id_schema(PATH_PREFIXES[kind])
        parameter["description"] = f"The id of the {'import' if kind == 'imports' else resource_of(path).one}."
    elif name == "formId" and "pattern" not in parameter["schema"]:
        parameter["schema"] = id_schema(Prefix.FORM)
    _describe_choices(parameter)
    if name in PARAMETER_TEXTS:
        parameter.setdefault("description", PARAMETER_TEXTS[name])
    # Some generators and viewers show only the one, some only the other.
    parameter["schema"].pop("description", None)


def _name_pages(schemas: Schema) -> None:
    """Give the pagination objects of the lists names; equal ones are one."""
    for listed, schema in list(schemas.items()):
        page = schema.get("properties", {}).get("pagination")
        if page and "properties" in page:
            name = "Pagination" if "page" in page["required"] else f"{listed.removesuffix('List')}Pagination"
            schemas[name] = page
            schema["properties"]["pagination"] = {"$ref": f"#/components/schemas/{name}"}


def _name_enums(result: Schema, schemas: Schema) -> None:
    """Replace each list of choices that `ENUM_NAME_OVERRIDES` names by a reference, so that it is one type."""
    names = load_enum_name_overrides()
    for schema in list(_objects(result)):
        if "enum" not in schema or ENUM_MARK not in schema:
            continue
        _describe_choices(schema)
        name = names.get(schema[ENUM_MARK])
        if name is None:
            continue
        choices, kinds = schema.pop("enum"), schema.pop("type")
        schemas[name] = {"type": "string", "enum": [one for one in choices if one is not None]}
        if CHOICE.match(schema.get("description", "")):
            schemas[name]["description"] = schema.pop("description")
        reference = {"$ref": f"#/components/schemas/{name}"}
        schema |= {"oneOf": [reference, {"type": "null"}]} if "null" in kinds else reference


def _describe_choices(schema: Schema) -> None:
    """Leave out a list of labels that only repeats the values."""
    found = CHOICE.findall(schema.get("description", ""))
    if found and all(
        NOT_A_LETTER.sub("", value).lower() == NOT_A_LETTER.sub("", label).lower() for value, label in found
    ):
        text = CHOICE.sub("", schema["description"]).strip()
        schema.pop("description")
        if text:
            schema["description"] = text


def _give_example(schema: Schema) -> None:
    """Give a text with a pattern an example that fits it: viewers would make one up, such as `$_}`."""
    pattern = schema.get("pattern")
    if schema.get("type") != "string" or pattern is None or "example" in schema:
        return
    prefix = ID_PATTERN.match(pattern)
    example = f"{prefix[1]}_{EXAMPLE_SUFFIX}" if prefix else "contact"
    if schema.get("format") == "uri" or not re.search(pattern, example):
        example = "https://example.com"
    if re.search(pattern, example):
        schema["examples"] = [example]


def _say_default(member: Schema) -> None:
    """Say a member's default in its text: generators take a member that has one for required, in bodies too."""
    if "default" in member:
        value = member.pop("default")
        shown = value if isinstance(value, str) else json.dumps(value)
        member["description"] = f"{member['description']} Default: `{shown}`."


def _objects(value: Any) -> Iterator[Schema]:
    """Yield every object at every level."""
    if isinstance(value, dict):
        yield value
    for below in list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _objects(below)
