"""No header and no body at the bot's URLs causes a server error."""

import json
import time
from typing import Any

import pytest
from django.test import Client
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tests.servers.services.discord_client import EVENTS, INTERACTIONS, MANAGE_SERVER, deliver

pytestmark = [pytest.mark.usefixtures("service"), pytest.mark.django_db]

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
def test_any_header_is_refused_before_anything_is_computed(
    body: bytes, path: str, timestamp: str, signature: str | None
) -> None:
    headers = {"X-Signature-Timestamp": timestamp, "X-Signature-Ed25519": signature or "00" * 64}
    answer = Client().post(path, body, content_type="application/json", headers=headers)
    assert answer.status_code == 401


@pytest.mark.parametrize("length", [12, 13, 309, 4_300, 8_000])
@pytest.mark.parametrize("path", [INTERACTIONS, EVENTS])
def test_a_signed_timestamp_of_any_length_is_refused(path: str, length: int) -> None:
    assert deliver(b'{"type":1}', path=path, timestamp="9" * length).status_code == 401


@settings(max_examples=examples(1_000))
@given(st.data())
@pytest.mark.parametrize("kind", [2, 3, 4, 5])
def test_any_signed_interaction_is_answered(kind: int, data: st.DataObject) -> None:
    payload = {**data.draw(changed({**INTERACTION, "type": kind})), "id": str(time.time_ns())}
    assert deliver(json.dumps(payload).encode()).status_code < 500


@settings(max_examples=examples(1_500))
@given(changed(EVENT))
def test_any_signed_event_is_answered(event: Any) -> None:
    assert deliver(json.dumps(event).encode(), path=EVENTS).status_code < 500
