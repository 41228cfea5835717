"""Signatures of requests: ours, and two that Fedify 2.3.6 made (foreign.json)."""

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import given
from hypothesis import strategies as st

from channels.activitypub.signatures import (
    BadSignature,
    SignedRequest,
    check_digest,
    check_time,
    key_of,
    public_pem,
    sign,
    sign_message,
    verify,
)
from tests.servers.services.fediverse import a_key

NOW = datetime(2026, 1, 5, 10, tzinfo=UTC)
URL = "https://letters.example/s/bees/inbox?x=1"
KEY_ID = "https://judge.example/actor#main-key"
FOREIGN = json.loads(Path(__file__).with_name("foreign.json").read_text())
both = pytest.mark.parametrize("method", [sign, sign_message])
Method = Callable[..., dict[str, str]]


def signed(method: Method, *, url: str = URL, body: bytes = b"{}", now: datetime = NOW) -> SignedRequest:
    headers = method(SignedRequest("POST", url, body=body), private=a_key("ada"), key_id=KEY_ID, now=now)
    return SignedRequest("POST", url, {name.lower(): value for name, value in headers.items()}, body)


def refused(request: SignedRequest, *, key: str = "", now: datetime = NOW) -> str:
    with pytest.raises(BadSignature) as refusal:
        verify(request, key=key or public_pem(a_key("ada")), now=now)
    return str(refusal.value)


@both
def test_what_is_signed_verifies_and_any_change_is_refused(method: Method) -> None:
    request = signed(method)
    verify(request, key=public_pem(a_key("ada")), now=NOW)
    assert key_of(request.headers) == KEY_ID
    for changed in (
        replace(request, body=b"{ }"),
        replace(request, url=URL.replace("bees", "ants")),
        replace(request, method="PUT"),
        replace(request, body=b""),
    ):
        assert refused(changed)
    assert refused(request, key=public_pem(a_key("bob")))


@both
def test_only_the_hour_around_it_counts(method: Method) -> None:
    hour = timedelta(hours=1)
    key = public_pem(a_key("ada"))
    for now in (NOW - hour, NOW + hour):
        verify(signed(method), key=key, now=now)
    assert "clocks" in refused(signed(method), now=NOW - hour - timedelta(seconds=2))
    assert "clocks" in refused(signed(method), now=NOW + 3 * hour)


@pytest.mark.parametrize("number", [0, 1])
def test_those_of_another_program_verify(number: int) -> None:
    made = FOREIGN["requests"][number]
    request = SignedRequest("POST", made["url"], made["headers"], FOREIGN["body"].encode())
    now = datetime.fromisoformat(FOREIGN["made_at"])
    verify(request, key=FOREIGN["key"], now=now)
    assert key_of(request.headers) == KEY_ID
    assert refused(request, now=now)


def test_the_path_alone_may_be_signed() -> None:
    request = signed(sign, url=URL.partition("?")[0])
    verify(replace(request, url=URL), key=public_pem(a_key("ada")), now=NOW)


@pytest.mark.parametrize("name", ["digest", "(request-target)", "host", "date"])
def test_what_must_be_covered_is(name: str) -> None:
    request = signed(sign)
    header = request.headers["signature"]
    request.headers["signature"] = header.replace(name, "content-type", 1)
    assert refused(request)


def test_other_keys_are_refused() -> None:
    public = generate_private_key(SECP256R1()).public_key()
    pem = public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
    assert "unknown algorithm" in refused(signed(sign), key=pem)
    assert "can’t be read" in refused(signed(sign), key="x")


@given(st.text(max_size=300), st.text(max_size=300), st.sampled_from(["signature", "signature-input"]))
def test_headers_of_strangers_are_read_or_refused(text: str, other: str, name: str) -> None:
    headers: dict[str, Any] = {name: text, "digest": other, "date": other}
    request = SignedRequest("POST", URL, headers, b"{}")
    for check in (key_of, lambda headers: check_time(headers, NOW)):
        with suppress(BadSignature):
            check(headers)
    with suppress(BadSignature):
        check_digest(request)
    assert refused(request)
