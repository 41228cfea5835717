"""Requests that are accepted as Discord's, and the cost of others.

No header and no body at the bot's URLs causes a server error.
"""

import json
import secrets
import time
from datetime import UTC, datetime
from io import BytesIO
from typing import Any
from wsgiref.util import setup_testing_defaults

import pytest
from django.core.wsgi import get_wsgi_application
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from hypothesis import given, settings
from hypothesis import strategies as st

from chat.models import Guild
from chat.rules.signatures import is_signed
from tests.examples import examples
from tests.servers.services.discord_client import (
    EVENTS,
    INTERACTIONS,
    MANAGE_SERVER,
    OURS,
    PUBLIC_KEY,
    DiscordService,
    deliver,
)

PATHS = st.sampled_from([INTERACTIONS, EVENTS])
DIGITS = st.integers(1, 4_300).map(lambda length: "9" * length)
IDS = st.one_of(DIGITS, st.integers(0, 2**70).map(str), st.just("1400000000000000001"))
TEXTS = st.one_of(st.text(max_size=20), DIGITS, st.sampled_from(["\0", "\ud800", "a" * 10_000]))
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), TEXTS)
ANY = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
OPTION = {"name": "list", "type": 1, "options": [{"name": "feed", "value": "1", "focused": True}]}
INTERACTION: dict[str, Any] = {
    "type": 2,
    "id": "1",
    "token": "t",
    "guild_id": "2",
    "channel_id": "3",
    "channel": {"id": "3", "type": 0},
    "member": {"user": {"id": "4"}, "roles": ["5"], "permissions": MANAGE_SERVER},
    "app_permissions": "8",
    "locale": "en-US",
    "guild_locale": "en-US",
    "data": {
        "name": "feed",
        "options": [OPTION],
        "custom_id": "v1:pause:1",
        "values": ["1"],
        "components": [],
    },
    "message": {},
}
EVENT: dict[str, Any] = {
    "type": 1,
    "event": {
        "type": "APPLICATION_AUTHORIZED",
        "data": {"guild": {"id": "2", "name": "Bees", "preferred_locale": "en-US"}},
    },
}
PING = b'{"type":1}'
pytestmark = pytest.mark.usefixtures("service")


def test_the_vector_of_the_reference_is_signed_so() -> None:
    known = (
        "25aa4784bff62901fdfb578701f99af3dd1d7ebd0a0de05316b3453d30c2d592"
        "ce160c002a6c878a7fae2e0dd551179e7f002c0a600c04899e3c5fd7e652d00a"
    )
    assert PUBLIC_KEY == "03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8"
    assert OURS.signed(PING, "1767225600") == known
    at = datetime.fromtimestamp(1767225600, UTC)
    assert is_signed(PING, signature=known, timestamp="1767225600", public_key=PUBLIC_KEY, now=at)


def test_a_ping_is_answered_without_the_database() -> None:
    """The tests' database is closed here: a query would raise."""
    response = deliver(PING)
    assert (response.status_code, response.json()) == (200, {"type": 1})


@pytest.mark.parametrize("path", [INTERACTIONS, EVENTS])
@pytest.mark.parametrize("signature", ["", "zz", "00" * 64, "00", "é" * 64])
def test_what_discord_did_not_sign_is_refused_without_the_database(path: str, signature: str) -> None:
    assert deliver(PING, path=path, signature=signature).status_code == 401


def test_a_request_without_a_signature_is_refused() -> None:
    assert Client().post(INTERACTIONS, PING, content_type="application/json").status_code == 401


def test_a_body_changed_by_an_octet_is_refused() -> None:
    stamp = str(int(time.time()))
    assert deliver(b'{"type":2}', timestamp=stamp, signature=OURS.signed(PING, stamp)).status_code == 401


def test_a_copy_of_an_old_request_is_refused() -> None:
    assert deliver(PING, timestamp=str(int(time.time()) - 3600)).status_code == 401
    assert deliver(PING, timestamp="soon").status_code == 401


@pytest.mark.django_db
def test_a_body_beyond_a_megabyte_is_not_read() -> None:
    assert deliver(b" " * (2 * 1024 * 1024)).status_code == 413


@pytest.mark.slow
@pytest.mark.django_db
def test_a_thousand_bad_signatures_ask_the_database_nothing_and_take_little_time() -> None:
    """By the application that web servers call, in processor time: 0.6 s, or twice that."""
    site = get_wsgi_application()
    bad = [secrets.token_hex(64) for _ in range(1_000)]
    statuses: list[str] = []
    with CaptureQueriesContext(connection) as asked:
        began = time.process_time()
        for signature in bad:
            statuses.append(refused_by(site, signed_request(PING, signature)))
        took = time.process_time() - began
    assert set(statuses) == {"401 Unauthorized"}
    assert len(asked) == 0
    assert took < 5


def refused_by(site: Any, request: dict[str, Any]) -> str:
    """Return the status of the response."""
    statuses: list[str] = []
    answer = site(request, lambda status, headers: statuses.append(status))
    b"".join(answer)
    answer.close()
    return statuses[0]


def signed_request(body: bytes, signature: str) -> dict[str, Any]:
    environ: dict[str, Any] = {
        "REQUEST_METHOD": "POST",
        "PATH_INFO": INTERACTIONS,
        "CONTENT_TYPE": "application/json",
        "CONTENT_LENGTH": str(len(body)),
        "HTTP_X_SIGNATURE_ED25519": signature,
        "HTTP_X_SIGNATURE_TIMESTAMP": str(int(time.time())),
        "wsgi.input": BytesIO(body),
    }
    setup_testing_defaults(environ)
    return environ


@pytest.mark.parametrize("body", [b"[]", b"nonsense", b'{"type": 99}', b'{"type":2}', b'{"type":2,"id":"x"}'])
def test_what_is_signed_and_no_interaction_is_refused_with_400(body: bytes) -> None:
    assert deliver(body).status_code == 400


def test_only_posts_are_answered() -> None:
    assert Client().get(INTERACTIONS).status_code == 405


def test_without_a_key_there_is_no_such_page(settings: Any) -> None:
    settings.DISCORD_PUBLIC_KEY = ""
    assert deliver(PING).status_code == 404


def test_a_ping_of_the_events_is_answered() -> None:
    assert deliver(b'{"type":0}', path=EVENTS).status_code == 204


@pytest.mark.django_db
def test_an_event_tells_of_a_new_server(service: DiscordService) -> None:
    data = {"guild": {"id": "700", "name": "Bee keepers", "preferred_locale": "de"}}
    event = {"type": 1, "event": {"type": "APPLICATION_AUTHORIZED", "data": data}}
    assert deliver(json.dumps(event).encode(), path=EVENTS).status_code == 204
    guild = Guild.objects.get()
    assert (guild.pk, guild.name, guild.locale) == (700, "Bee keepers", "de")


def places_in(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, part in parts for place in places_in(part, (*path, key)))]


@st.composite
def changed(draw: st.DrawFn, document: dict[str, Any]) -> Any:
    """Draw the document with up to three of its values replaced."""
    copy = json.loads(json.dumps(document))
    for _ in range(draw(st.integers(1, 3))):
        place = draw(st.sampled_from(places_in(copy)[1:]))
        inner = copy
        for key in place[:-1]:
            inner = inner[key]
        inner[place[-1]] = draw(st.one_of(IDS, SCALARS, ANY))
    return copy


@given(
    PATHS, st.one_of(TEXTS, DIGITS, st.just("1.7e999"), st.just("-1")), st.one_of(st.none(), DIGITS, TEXTS)
)
@pytest.mark.parametrize("body", [b'{"type":1}', b"", b"\xff"])
@pytest.mark.django_db
def test_any_header_is_refused_before_anything_is_computed(
    body: bytes, path: str, timestamp: str, signature: str | None
) -> None:
    headers = {"X-Signature-Timestamp": timestamp, "X-Signature-Ed25519": signature or "00" * 64}
    answer = Client().post(path, body, content_type="application/json", headers=headers)
    assert answer.status_code == 401


@pytest.mark.parametrize("length", [12, 13, 309, 4_300, 8_000])
@pytest.mark.parametrize("path", [INTERACTIONS, EVENTS])
@pytest.mark.django_db
def test_a_signed_timestamp_of_any_length_is_refused(path: str, length: int) -> None:
    assert deliver(b'{"type":1}', path=path, timestamp="9" * length).status_code == 401


@settings(max_examples=examples(1_000))
@given(st.data())
@pytest.mark.parametrize("kind", [2, 3, 4, 5])
@pytest.mark.django_db
def test_any_signed_interaction_is_answered(kind: int, data: st.DataObject) -> None:
    payload = {**data.draw(changed({**INTERACTION, "type": kind})), "id": str(time.time_ns())}
    assert deliver(json.dumps(payload).encode()).status_code < 500


@settings(max_examples=examples(1_500))
@given(changed(EVENT))
@pytest.mark.django_db
def test_any_signed_event_is_answered(event: Any) -> None:
    assert deliver(json.dumps(event).encode(), path=EVENTS).status_code < 500
