"""The API schema is public, complete and correct."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from django.test import Client
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.renderers import OpenApiJsonRenderer

from common.api.permissions import SCOPES

PROBLEM = {"$ref": "#/components/schemas/Problem"}


@pytest.fixture(scope="module")
def described() -> Any:
    schema = SchemaGenerator().get_schema(request=None, public=True)
    return json.loads(OpenApiJsonRenderer().render(schema))


def operations(described: Any) -> Iterator[tuple[str, str, Any]]:
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            yield method, path, operation


@pytest.mark.slow
@pytest.mark.django_db
def test_the_schema_is_public_and_names_every_endpoint(client: Client) -> None:
    answer = client.get("/api/v1/schema/")
    assert answer.status_code == 200
    assert answer.headers["Content-Type"] == "application/yaml"
    paths = yaml.safe_load(answer.content)["paths"]
    models = ["feeds", "items", "subscribables", "subscriptions", "destinations", "issues", "deliveries"]
    assert {f"/api/v1/{model}/" for model in models} <= set(paths)
    subscribe = paths["/api/v1/subscribables/{name}/subscribe/"]
    assert list(subscribe) == ["post"]
    assert {"202", "400", "403", "404", "429"} <= set(subscribe["post"]["responses"])


def test_every_error_is_described_as_a_problem(described: Any) -> None:
    for method, path, operation in operations(described):
        codes = {code for code in operation["responses"] if code >= "400"}
        assert {"429", "503"} <= codes, (method, path)
        for code in codes:
            content = operation["responses"][code]["content"]
            assert content["application/problem+json"]["schema"] == PROBLEM, (method, path, code)


def test_every_operation_says_what_it_does_and_which_scope_it_needs(described: Any) -> None:
    needed = set()
    for method, path, operation in operations(described):
        if path.endswith("/subscribe/"):
            continue
        assert operation["summary"], (method, path)
        (scope,) = operation["security"][0]["token"]
        assert scope.endswith(":read") == (method == "get"), (method, path)
        assert operation["security"][1] == {"session": []}
        needed.add(scope)
    assert needed == set(SCOPES)


def test_every_body_is_closed_and_bounded(described: Any) -> None:
    schemas = described["components"]["schemas"]
    for method, path, operation in operations(described):
        if "requestBody" not in operation or path.endswith("/subscribe/"):
            continue
        content = operation["requestBody"]["content"]
        assert list(content) == ["application/json"], (method, path)
        body = schemas[content["application/json"]["schema"]["$ref"].rpartition("/")[2]]
        assert body["additionalProperties"] is False
        for name, field in body["properties"].items():
            assert is_bounded(field, schemas), f"{method} {path}: {name}"


def is_bounded(field: Any, schemas: Any) -> bool:
    """Return whether a text, number or list has a maximum. Choices and booleans always do."""
    if "$ref" in field or "allOf" in field or "oneOf" in field or "enum" in field:
        return True
    kinds = field["type"] if isinstance(field["type"], list) else [field["type"]]
    limits = {"string": "maxLength", "integer": "maximum", "array": "maxItems", "object": "maxProperties"}
    return field.get("format") in ("date", "date-time") or all(
        limits[kind] in field for kind in kinds if kind in limits
    )
