"""Events of mail services outside their table: unknown and repeated ones."""

from types import SimpleNamespace
from typing import Any

import pytest
from anymail.signals import EventType

from delivery.bounces.record import event_digest, parse_event
from delivery.bounces.service_verdicts import VERDICTS
from delivery.rules.bounce_policy import BounceKind


def event(kind: str, said: object = None, **more: Any) -> Any:
    facts = {"event_type": kind, "reject_reason": None, "esp_event": said, "recipient": "Ada@x.example"}
    facts |= {"mta_response": "", "description": "", "event_id": None, "timestamp": 1}
    return SimpleNamespace(**(facts | more))


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (EventType.COMPLAINED, BounceKind.COMPLAINT),
        (EventType.DEFERRED, BounceKind.DELAYED),
        (EventType.BOUNCED, BounceKind.POLICY),
        (EventType.REJECTED, BounceKind.POLICY),
        (EventType.FAILED, BounceKind.POLICY),
        (EventType.UNKNOWN, None),
    ],
)
def test_an_event_of_an_unknown_type_is_taken_as_anymail_has_it_and_never_as_a_dead_address(
    kind: str, expected: BounceKind | None
) -> None:
    finding, _ = parse_event(event(kind, {"event": "brand new"}), "Brevo")
    assert (finding.kind if finding else None) == expected
    assert parse_event(event(EventType.UNSUBSCRIBED, {"event": "brand new"}), "Brevo")[1]


def test_an_unknown_type_is_logged_once_with_the_services_name(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("delivery.bounces.record._unknown_types", set())
    for _ in range(3):
        parse_event(event(EventType.UNKNOWN, {"event": "never heard of"}), "Brevo")
        parse_event(event(EventType.UNKNOWN, {"event": "click"}), "Brevo")
    assert [record.getMessage() for record in caplog.records] == [
        "Brevo sent an event of an unknown type: 'never heard of'"
    ]


@pytest.mark.parametrize("said", [None, "x", [], {}, {"event": {"a": 1}}, {"event": None, "reason": []}])
@pytest.mark.parametrize("service", [*VERDICTS, "Nobody"])
def test_any_shape_of_an_event_is_read(service: str, said: object) -> None:
    assert parse_event(event(EventType.UNKNOWN, said), service)[0] is None


def test_an_event_that_comes_again_is_the_same_and_all_delays_of_a_letter_are_one() -> None:
    def digest(told: Any, delivery: int = 1) -> str:
        finding, _ = parse_event(told, "mailgun")
        assert finding
        return event_digest(told, finding.kind, "mailgun", delivery)

    first = event(EventType.BOUNCED, event_id="a", timestamp=1)
    assert digest(first) == digest(event(EventType.BOUNCED, event_id="a", timestamp=2))
    assert digest(first) != digest(event(EventType.BOUNCED, event_id="b", timestamp=1))
    assert digest(first) != digest(first, 2)
    assert digest(event(EventType.BOUNCED)) != digest(event(EventType.BOUNCED, timestamp=2))
    assert digest(event(EventType.DEFERRED)) == digest(event(EventType.DEFERRED, timestamp=2, event_id="c"))
