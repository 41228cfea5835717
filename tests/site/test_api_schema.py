"""The API schema is public, complete and correct.

The API matches its schema: schemathesis finds no difference.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
import yaml
from django.core.cache import cache
from django.core.signals import request_finished, request_started
from django.db import close_old_connections
from django.test import Client
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.renderers import OpenApiJsonRenderer
from hypothesis import HealthCheck, Phase, given, settings

from common.api.permissions import SCOPES
from common.clock import utcnow
from feedletter_site.services.tokens import make_token
from feedletter_site.wsgi import application
from tests.examples import NIGHTLY, some_now
from tests.factories import (
    DeliveryFactory,
    DestinationFactory,
    FeedFactory,
    IssueFactory,
    ItemFactory,
    SubscribableFactory,
    SubscriptionFactory,
)

CONFIG = Path(__file__).with_name("schemathesis.toml")
RESOURCES = ("feeds", "items", "subscribables", "subscriptions", "destinations", "issues", "deliveries")
# Requests per endpoint in the usual suite; the slow test sends some thousand.
FEW = 3
SECONDS = 20
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


def a_house() -> str:
    """Create rows under the keys of schemathesis.toml; return a token with all scopes."""
    states = zip((1_000_001, 1_000_002, 1_000_003), ("queued", "failed", "sent"), strict=True)
    for number, (pk, state) in enumerate(states, 1):
        feed = FeedFactory(pk=pk)
        ItemFactory(pk=pk, feed=feed, state="excluded" if number == 1 else "unassigned")
        newsletter = SubscribableFactory(pk=pk, name=f"weekly-{number}", feeds=[feed])
        reader = SubscriptionFactory(pk=pk, subscribable=newsletter, destination=DestinationFactory(pk=pk))
        issue = IssueFactory(pk=pk, subscribable=newsletter)
        DeliveryFactory(pk=pk, issue=issue, subscription=reader, state=state)
    IssueFactory(subscribable=newsletter, published_at=None)
    return make_token(name="schemathesis", scopes=SCOPES, now=utcnow())[1]


@pytest.fixture
def no_limits(settings: Any) -> Iterator[None]:
    cache.clear()
    rates = {"api": "1000000/minute", "api_anonymous": "1000000/minute", "subscribe": "1000000/hour"}
    settings.REST_FRAMEWORK = {**settings.REST_FRAMEWORK, "DEFAULT_THROTTLE_RATES": rates}
    yield
    cache.clear()


@pytest.fixture
def one_connection() -> Iterator[None]:
    """Keep the test's connection open after requests, as Django's own client does."""
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


@pytest.mark.slow
@pytest.mark.django_db
@pytest.mark.parametrize("resource", some_now(RESOURCES))
@pytest.mark.usefixtures("one_connection")
@pytest.mark.usefixtures("no_limits")
def test_a_few_requests_of_every_kind_find_no_fault(resource: str) -> None:
    headers = {"Authorization": f"Bearer {a_house()}"}
    config = schemathesis.Config.from_path(CONFIG)
    described = schemathesis.openapi.from_wsgi("/api/v1/schema/", application, config=config)
    found: Any = described.get_all_operations()
    operations = [result.ok() for result in found]
    own = [each for each in operations if each.path.startswith(f"/api/v1/{resource}/")]
    assert own
    for operation in own:
        send(operation, headers)


def send(operation: Any, headers: dict[str, str]) -> None:
    @settings(
        max_examples=FEW,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy())
    def each(case: Any) -> None:
        case.call_and_validate(headers=headers)

    each()


@NIGHTLY
@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("no_limits")
def test_thousands_of_requests_in_every_order_find_no_fault(live_server: Any, tmp_path: Path) -> None:
    key = a_house()
    command = [
        *(str(Path(sys.executable).with_name("schemathesis")), "--config-file", str(CONFIG), "run"),
        *(f"{live_server.url}/api/v1/schema/", "--header", f"Authorization: Bearer {key}"),
        *("--max-time", str(SECONDS), "--max-examples", "25", "--seed", "1", "--continue-on-failure"),
    ]
    limit = SECONDS * 5
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=limit, check=False)
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-2000:]
    assert "passed" in done.stdout
