"""What an event of a mail service means for its recipient."""

from types import SimpleNamespace
from typing import Any

import pytest
from anymail.signals import EventType, RejectReason

from delivery.bounces.esp_events import event_digest, parse_event
from delivery.rules.bounce_policy import BounceKind


def event(kind: str, reason: str | None = None, *, words: str = "", said: object = None, **more: Any) -> Any:
    facts = {"event_type": kind, "reject_reason": reason, "esp_event": said, "recipient": "Ada@x.example"}
    facts |= {"mta_response": words, "description": "", "event_id": None, "timestamp": 1}
    return SimpleNamespace(**(facts | more))


@pytest.mark.parametrize(
    ("told", "kind"),
    [
        (event(EventType.COMPLAINED), BounceKind.COMPLAINT),
        (event(EventType.DEFERRED), BounceKind.DELAYED),
        # The service's own list of those it does not send to.
        (event(EventType.REJECTED, RejectReason.INVALID), BounceKind.HARD),
        (event(EventType.REJECTED, RejectReason.BOUNCED), BounceKind.HARD),
        (event(EventType.REJECTED, RejectReason.SPAM), BounceKind.COMPLAINT),
        (event(EventType.REJECTED, RejectReason.OTHER), BounceKind.POLICY),
        # The mail server's words count most, …
        (event(EventType.BOUNCED, RejectReason.INVALID, words="452 4.2.2 mailbox full"), BounceKind.SOFT),
        (event(EventType.BOUNCED, words="550 5.1.1 no such user"), BounceKind.HARD),
        # … then what the service makes of them.
        (event(EventType.BOUNCED, RejectReason.BLOCKED), BounceKind.POLICY),
        (event(EventType.BOUNCED, RejectReason.SPAM), BounceKind.POLICY),
        (event(EventType.BOUNCED, RejectReason.INVALID), BounceKind.HARD),
        (event(EventType.BOUNCED, RejectReason.TIMED_OUT), BounceKind.SOFT),
        (event(EventType.FAILED), BounceKind.POLICY),
        (event(EventType.BOUNCED, said={"hard_bounce": True}), BounceKind.HARD),
        (event(EventType.BOUNCED, said={"hard_bounce": "false"}), BounceKind.SOFT),
        (event(EventType.BOUNCED, said={"msys": {"event": {"bounce_class": 10}}}), BounceKind.HARD),
        (event(EventType.BOUNCED, said={"msys": {"event": {"bounce_class": "22"}}}), BounceKind.SOFT),
        (event(EventType.BOUNCED, said={"bounce": {"bounceType": "Permanent"}}), BounceKind.HARD),
        (event(EventType.BOUNCED, said={"bounce": {"bounceType": "Transient"}}), BounceKind.SOFT),
    ],
    ids=lambda value: value.event_type if isinstance(value, SimpleNamespace) else value.value,
)
def test_what_is_known_of_the_address(told: Any, kind: BounceKind) -> None:
    finding = parse_event(told).finding
    assert finding is not None
    assert (finding.kind, finding.addresses) == (kind, ("Ada@x.example",))


@pytest.mark.parametrize(
    ("told", "leaves"),
    [
        (event(EventType.UNSUBSCRIBED), True),
        (event(EventType.REJECTED, RejectReason.UNSUBSCRIBED), True),
        (event(EventType.DELIVERED), False),
        (event(EventType.OPENED), False),
    ],
)
def test_who_left_by_the_service_leaves_and_the_rest_means_nothing(told: Any, leaves: bool) -> None:
    said = parse_event(told)
    assert (said.finding, said.leaves) == (None, leaves)


def test_an_event_that_comes_again_is_the_same_and_all_delays_of_a_letter_are_one() -> None:
    def digest(told: Any, delivery: int = 1) -> str:
        return event_digest(told, "mailgun", delivery)

    first = event(EventType.BOUNCED, event_id="a", timestamp=1)
    assert digest(first) == digest(event(EventType.BOUNCED, event_id="a", timestamp=2))
    assert digest(first) != digest(event(EventType.BOUNCED, event_id="b", timestamp=1))
    assert digest(first) != digest(first, 2)
    assert digest(event(EventType.BOUNCED)) != digest(event(EventType.BOUNCED, timestamp=2))
    assert digest(event(EventType.DEFERRED)) == digest(event(EventType.DEFERRED, timestamp=2, event_id="c"))
