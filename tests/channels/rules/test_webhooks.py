"""Webhooks are signed as in Standard Webhooks, retried for three days, with rests in between."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from channels.rules.webhooks import (
    GIVE_UP_AFTER,
    is_within_rotation,
    next_try,
    secret_of,
    signed_headers,
    verdict,
    webhook_rests_until,
)
from tests.factories import NOW

KEY = bytes(range(32))
SECONDS, HOURS, DAYS = timedelta(seconds=1), timedelta(hours=1), timedelta(days=1)


def headers(body: bytes, *keys: bytes, event_id: str = "evt_1") -> dict[str, str]:
    secrets = [secret_of(key) for key in keys]
    return signed_headers(event_id=event_id, at=datetime.now(UTC), body=body, secrets=secrets)


@given(st.text(st.characters(codec="utf-8")), st.binary(min_size=24, max_size=64))
def test_receivers_library_verifies_whatever_we_sign(text: str, key: bytes) -> None:
    Webhook(secret_of(key)).verify(text, headers(text.encode(), key), json_parse=False)


@pytest.mark.parametrize("changed", [{"webhook-id": "evt_2"}, {"webhook-timestamp": "1"}])
def test_a_signature_is_good_for_one_event_at_one_time(changed: dict[str, str]) -> None:
    with pytest.raises(WebhookVerificationError):
        Webhook(secret_of(KEY)).verify("{}", {**headers(b"{}", KEY), **changed})
    with pytest.raises(WebhookVerificationError):
        Webhook(secret_of(KEY)).verify("[]", headers(b"{}", KEY))


def test_the_signature_is_that_of_the_reference_implementations() -> None:
    """The vector in the tests of github.com/standard-webhooks/standard-webhooks/libraries."""
    made = signed_headers(
        event_id="msg_p5jXN8AQM9LWM0D4loKWxJek",
        at=datetime.fromtimestamp(1614265330, UTC),
        body=b'{"test": 2432232314}',
        secrets=["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"],
    )
    assert made["webhook-timestamp"] == "1614265330"
    assert made["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_while_a_secret_is_changed_either_of_the_two_verifies() -> None:
    other = bytes(32)
    signed = headers(b"{}", KEY, other)
    for key in (KEY, other):
        Webhook(secret_of(key)).verify("{}", signed)
    assert is_within_rotation(NOW, NOW + DAYS - SECONDS)
    assert not is_within_rotation(NOW, NOW + DAYS)
    assert not is_within_rotation(None, NOW)


@pytest.mark.parametrize(
    ("status", "meaning"),
    [
        (200, "taken"),
        (204, "taken"),
        (299, "taken"),
        (302, "again"),
        (404, "again"),
        (410, "gone"),
        (500, "again"),
        (None, "again"),
    ],
)
def test_only_2xx_is_taken_and_only_410_is_for_good(status: int | None, meaning: str) -> None:
    assert verdict(status) == meaning


def test_tries_are_spread_over_three_days_and_then_end() -> None:
    now, give_up, tries = NOW, NOW + GIVE_UP_AFTER, 1
    while again := next_try(tries, now=now, give_up_at=give_up):
        assert now < again <= give_up
        now, tries = again, tries + 1
    assert now == give_up
    assert 15 < tries < 40


def test_what_the_receiver_asks_for_is_heeded_within_bounds() -> None:
    give_up = NOW + GIVE_UP_AFTER
    assert next_try(1, now=NOW, give_up_at=give_up, wish=NOW + 2 * HOURS) == NOW + 2 * HOURS
    assert next_try(1, now=NOW, give_up_at=give_up, wish=NOW + 300 * DAYS) == NOW + DAYS
    assert webhook_rests_until(1, now=NOW, wish=NOW + 2 * HOURS) == NOW + 2 * HOURS


def test_a_webhook_that_goes_on_failing_rests_longer_but_never_for_long() -> None:
    rests = [webhook_rests_until(failures, now=NOW) - NOW for failures in (1, 4, 100)]
    assert rests == sorted(rests)
    assert rests[0] < 6 * SECONDS
    assert rests[-1] < 12 * timedelta(minutes=1)
