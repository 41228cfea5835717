"""docs/reference/api.md and webhooks.md, from the OpenAPI description."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any

from tests.documentation.tables import table

Schema = Mapping[str, Any]
TITLES = {
    "channels": "Channels: services for newsletters and bridges",
    "deliveries": "Deliveries",
    "destinations": "Destinations: addresses and accounts",
    "feeds": "Feeds",
    "issues": "Issues",
    "items": "Items: posts",
    "letters": "Letters: your own emails",
    "site": "The site’s settings",
    "subscribables": "Subscribables: newsletters and bridges",
    "subscriptions": "Subscriptions",
}
# Every list has these; docs/api.md describes them.
OF_EVERY_LIST = {"count", "created_after", "created_before", "cursor", "ordering", "page_size"}
COLLECTION_METHODS = {"post": "add", "patch": "change"}


def api_lines(description: Schema) -> Iterator[str]:
    """Write a section per resource: its requests, filters, and fields."""
    schemas = description["components"]["schemas"]
    yield "# API\n"
    yield (
        "Requests, filters and fields of `/api/v1/`. [The API](../api.md) says how to use it. "
        "This page is written by `make reference`.\n"
    )
    requests = [
        (path, method, operation)
        for path, operations in description["paths"].items()
        for method, operation in operations.items()
    ]
    for tag, grouped in groupby(requests, key=lambda request: request[2]["tags"][0]):
        of_tag = list(grouped)
        yield f"## {TITLES[tag]}\n"
        yield from table(("request", "scope", "meaning"), map(_request_row, of_tag))
        yield from _filters(of_tag)
        yield from _fields(of_tag, schemas)


def _request_row(request: tuple[str, str, Schema]) -> tuple[str, str, str]:
    path, method, operation = request
    scopes = [scope for each in operation.get("security", ()) for scope in each.get("token", ())]
    words = [operation.get("summary", "Sign-up from other sites’ pages."), operation.get("description", "")]
    return (
        f"`{method.upper()} {path.removeprefix('/api/v1/')}`",
        ", ".join(f"`{scope}`" for scope in scopes) or "none",
        ". ".join(word.rstrip(".") for word in words if word) + ".",
    )


def _filters(requests: Iterable[tuple[str, str, Schema]]) -> Iterator[str]:
    rows = {
        parameter["name"]: (
            f"`{parameter['name']}`",
            _type(parameter["schema"], {}),
            parameter.get("description", ""),
        )
        for _, _, operation in requests
        for parameter in operation.get("parameters", ())
        if parameter["in"] == "query" and parameter["name"] not in OF_EVERY_LIST
    }
    if rows:
        yield from table(("parameter", "type", "meaning"), rows.values())


def _fields(requests: list[tuple[str, str, Schema]], schemas: Schema) -> Iterator[str]:
    """Join the fields that are read, added and changed into one table, and bodies of actions into another."""
    fields: dict[str, tuple[str, str]] = {}
    places: dict[str, list[str]] = {}
    for path, method, operation in requests:
        is_action = method == "post" and path.count("/") > 4
        place = f"`{path.split('/')[-2]}/`" if is_action else COLLECTION_METHODS.get(method, "")
        bodies = [operation.get("requestBody", {})]
        if method == "get":
            bodies = [operation["responses"].get("200", {})]
            place = "read"
        for schema in (_json_schema(body) for body in bodies):
            for name, of_field in _properties(schema, schemas).items():
                kind, meaning = fields.get(name, ("", ""))
                fields[name] = (kind or _type(of_field, schemas), meaning or of_field.get("description", ""))
                if place not in places.setdefault(name, []):
                    places[name].append(place)
    yield from table(
        ("field", "type", "in", "meaning"),
        ((f"`{name}`", kind, ", ".join(places[name]), text) for name, (kind, text) in fields.items()),
    )


def _json_schema(body: Schema) -> Schema:
    return next((content.get("schema", {}) for content in body.get("content", {}).values()), {})


def _resolved(schema: Schema, schemas: Schema) -> Schema:
    if "$ref" in schema:
        return _resolved(schemas[schema["$ref"].rpartition("/")[2]], schemas)
    return schema


def _properties(schema: Schema, schemas: Schema) -> Schema:
    """Return the fields of an object, of the objects in a list, or of those on a page."""
    schema = _resolved(schema, schemas)
    if schema.get("type") == "array":
        return _properties(schema["items"], schemas)
    properties: Schema = schema.get("properties", {})
    return _properties(properties["results"], schemas) if "results" in properties else properties


def _type(schema: Schema, schemas: Schema) -> str:
    schema = _resolved(schema, schemas)
    if values := schema.get("enum"):
        return ", ".join(f"`{value}`" for value in values if value not in ("", None))
    if parts := schema.get("allOf") or schema.get("oneOf") or schema.get("anyOf"):
        return " or ".join(dict.fromkeys(filter(None, (_type(part, schemas) for part in parts))))
    kinds = schema.get("type", "any")
    kinds = [kinds] if isinstance(kinds, str) else kinds
    return " or ".join(_kind(kind, schema, schemas) for kind in kinds)


def _kind(kind: str, schema: Schema, schemas: Schema) -> str:
    if kind == "array":
        return f"list of {_type(schema['items'], schemas)}"
    return (
        {"date-time": "time", "date": "date"}.get(schema.get("format", ""), kind)
        if kind == "string"
        else kind
    )


def webhook_lines(description: Schema) -> Iterator[str]:
    yield "# Webhook events\n"
    yield (
        "Each event’s `data`. [Webhooks](../webhooks.md) says how to receive them. "
        "This page is written by `make reference`.\n"
    )
    events = [
        (name, operations["post"]["summary"], _json_schema(operations["post"]["requestBody"]))
        for name, operations in description["webhooks"].items()
    ]
    yield from table(("`type`", "when"), ((f"`{name}`", when) for name, when, _ in events))
    for data, alike in groupby(events, key=lambda event: event[2]["properties"]["data"]):
        yield f"## {', '.join(name for name, *_ in alike)}\n"
        yield from table(("`data`", "fields"), (_data_row(data, name) for name in data["properties"]))
    yield "A star marks what is not always there.\n"


def _data_row(data: Schema, name: str) -> tuple[str, str]:
    schema = data["properties"][name]
    types = [part for part in schema.get("oneOf", [schema]) if part["type"] != "null"]
    inner = types[0].get("items", types[0])
    fields = ", ".join(_starred(inner, field) for field in inner.get("properties", ()))
    many = "a list of: " if schema.get("type") == "array" else ""
    nothing = " or null" if schema.get("oneOf") else ""
    return _starred(data, name), f"{many}{fields or inner['type']}{nothing}"


def _starred(schema: Schema, name: str) -> str:
    return f"`{name}`" if name in schema["required"] else f"`{name}` *"
