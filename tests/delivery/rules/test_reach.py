"""The reasons why a subscriber gets nothing, and their order."""

from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from delivery.models import Delivery, Issue
from delivery.rules import reach as rules
from delivery.rules.reach import Reach, answer_of_all, person_reach, reach
from delivery.rules.reach_facts import PersonFacts, ReachFacts
from subscriptions.models import Destination, FrequencyChange, Subscribable, Subscription, Suppression

NOW = datetime(2026, 11, 26, 9, tzinfo=UTC)
DAY = timedelta(days=1)
YESTERDAY, TOMORROW = NOW - DAY, NOW + DAY
LAST = {"title": "Spring", "published_at": NOW - 2 * DAY}
CANCELLED = {"cancelled_at": YESTERDAY}
PAUSED = {"sending_paused_at": YESTERDAY, "sending_paused_reason": "by ada"}
ANNOTATED = {"all_feeds": 1, "read_feeds": 1, "brings_posts": True}
AMSTERDAM = ZoneInfo("Europe/Amsterdam")
UNCONFIRMED = {"status": "unconfirmed", "confirmed_at": None}
PERSONAL = [rule.__name__ for rule in rules.PERSONAL]
ORDER = [rule.__name__ for rule in (*rules.PERSONAL, *rules.BLOCKING, *rules.OF_LAST_ISSUE)]
LASTS: tuple[dict[str, Any] | None, ...] = (None, {"state": "sent"}, {"state": "failed"}, {"state": "queued"})
YES, SOON = Reach("sent", "Gets it.", is_reached=True), Reach("first_issue", "Nothing.", is_reached=True)
KEPT = Reach("last_stored", "Did not get it.")
NO, GONE = Reach("paused", "Gets nothing: paused."), Reach("unsubscribed", "Gets nothing: unsubscribed.")
STATUSES: dict[str, dict[str, Any]] = {
    "confirmed": {},
    "unconfirmed": UNCONFIRMED,
    "unsubscribed": {"status": "unsubscribed", "left_at": YESTERDAY, "undo_until": TOMORROW},
}
DRAFTS: dict[str, tuple[dict[str, Any] | None, str]] = {
    "": (None, "The next issue is sent on 27 Nov"),
    "approval": ({}, "waits for your approval"),
    "reader": ({"awaits_reader": True}, "The first issue waits for its first subscriber"),
    "release": ({"release_at": TOMORROW}, "The next issue is sent on 27 Nov"),
}


def facts(
    *,
    person: Any = None,
    suppression: Any = None,
    mine: Any = None,
    newsletter: Any = None,
    draft: Any = None,
    issue: Any = None,
    last: Any = None,
    **others: Any,
) -> ReachFacts:
    """Return facts of unsaved rows. `last`: the delivery of the last issue."""
    row: Any = Subscribable(**{k: v for k, v in (newsletter or {}).items() if k not in ANNOTATED})
    for name, usual in ANNOTATED.items():
        setattr(row, name, (newsletter or {}).get(name, usual))
    return ReachFacts(
        now=NOW,
        zone=AMSTERDAM,
        person=Destination(**{"kind": "email", **(person or {})}),
        suppression=Suppression(**suppression) if suppression else None,
        subscription=Subscription(**{"status": "confirmed", "confirmed_at": NOW - 30 * DAY, **(mine or {})}),
        newsletter=row,
        draft=Issue(**draft) if draft is not None else None,
        issue=Issue(**{**LAST, **(issue or {})}) if issue is not None or last else None,
        delivery=Delivery(**{"due_at": NOW, **last}) if last else None,
        **others,
    )


def change(to: str = "", by: str = "", **fields: Any) -> FrequencyChange:
    old, new = (Subscription(subscribable=Subscribable(title=title)) for title in (by, to))
    return FrequencyChange(old=old, new=new, **fields)


CASES: dict[str, tuple[dict[str, Any], str]] = {
    "erased": (
        {"person": {"erased_at": YESTERDAY}},
        "Gets nothing: the data of this person was erased on 25 Nov.",
    ),
    "suppressed": (
        {"suppression": {"created_at": YESTERDAY, "reason": "imported as bounced"}},
        "Gets nothing: on the Do not email list since 25 Nov (imported as bounced).",
    ),
    "suppressed: by hand, a phone number, another year": (
        {"suppression": {"created_at": NOW - 400 * DAY}, "person": {"kind": "sms"}},
        "Gets nothing: on the Do not email list since 22 Oct 2025.",
    ),
    "suppressed: a complaint": (
        {"suppression": {"created_at": YESTERDAY, "reason": "Marked as spam by the subscriber."}},
        "Gets nothing: on the Do not email list since 25 Nov (Marked as spam by the subscriber).",
    ),
    "disabled": (
        {"person": {"disabled_at": YESTERDAY, "disabled_reason": "Disabled by hand."}},
        "Gets nothing: the address is disabled since 25 Nov (Disabled by hand).",
    ),
    "switched": (
        {"mine": {"status": "unsubscribed"}, "away": change("The Weekly", settled_at=YESTERDAY)},
        "Gets nothing: changed to The Weekly on 25 Nov.",
    ),
    "unsubscribed: by the subscriber": (
        {"mine": {"status": "unsubscribed", "left_at": YESTERDAY, "left_why": "too_often"}},
        "Gets nothing: unsubscribed on 25 Nov, by the subscriber: “I got it too often”.",
    ),
    "unsubscribed: by somebody else": (
        {"mine": {"status": "unsubscribed", "left_at": YESTERDAY}},
        "Gets nothing: unsubscribed on 25 Nov, by an admin or a report of the mail service.",
    ),
    "unsubscribed: in the list": (
        {"mine": {"status": "unsubscribed", "left_at": YESTERDAY, "confirmed_at": None}},
        "Gets nothing: imported as unsubscribed on 25 Nov.",
    ),
    "unconfirmed: never asked": (
        {"mine": UNCONFIRMED},
        "Gets nothing: never confirmed, and never asked to confirm.",
    ),
    "unconfirmed: asked": (
        {"mine": UNCONFIRMED, "confirmation": "sent", "confirm_until": TOMORROW},
        "Gets nothing: not confirmed yet; the link expires on 27 Nov at 10:00.",
    ),
    "unconfirmed: expired": (
        {"mine": UNCONFIRMED, "confirmation": "sent", "confirm_until": YESTERDAY},
        "Gets nothing: not confirmed: the link in the email that asks for it expired on 25 Nov.",
    ),
    "unconfirmed: expired, and the mail forgotten": (
        {"mine": UNCONFIRMED, "confirm_until": YESTERDAY},
        "Gets nothing: not confirmed: the link in the email that asks for it expired on 25 Nov.",
    ),
    "unconfirmed: refused": (
        {"mine": UNCONFIRMED, "confirmation": "failed", "confirmation_error": "550 No such user"},
        "Gets nothing: not confirmed: the email that asks for it was refused (550 No such user).",
    ),
    "unconfirmed: a phone": (
        {"mine": UNCONFIRMED, "confirmation": "failed", "person": {"kind": "sms"}},
        "Gets nothing: not confirmed: the message that asks for it was refused.",
    ),
    "unconfirmed: not sent": (
        {"mine": UNCONFIRMED, "confirmation": "cancelled", "confirmation_error": "Left before it was sent."},
        "Gets nothing: not confirmed: the email that asks for it was not sent (Left before it was sent).",
    ),
    "unconfirmed: held": (
        {"mine": UNCONFIRMED, "confirmation": "held", "confirmation_error": "A backup was restored"},
        "Gets nothing: not confirmed: the email that asks for it is held (A backup was restored).",
    ),
    "unconfirmed: waits": (
        {"mine": UNCONFIRMED, "confirmation": "wanted", "confirm_until": TOMORROW},
        "Gets nothing: not confirmed: the email that asks for it is not sent yet.",
    ),
    "unconfirmed: kept": (
        {"mine": UNCONFIRMED, "confirmation": "stored", "confirm_until": TOMORROW},
        "Gets nothing: not confirmed: the email that asks for it was kept in the mailbox here, not sent.",
    ),
    "paused": ({"mine": {"paused_until": TOMORROW}}, "Gets nothing: paused by the subscriber until 27 Nov."),
    "newsletter_paused": (
        {"newsletter": PAUSED, "last": {"state": "sent"}},
        "Gets nothing: sending of this newsletter is paused since 25 Nov (by ada).",
    ),
    "last_paused": (
        {"issue": {"paused_at": YESTERDAY}, "last": {"state": "held", "held_for": "pause"}},
        "Does not get “Spring” yet: the issue is paused. The next issue is sent when a post settles.",
    ),
    "last_held: restore": (
        {"last": {"state": "held", "held_for": "restore"}},
        "Did not get “Spring”: it is held because a backup was restored; decide on the overview.",
    ),
    "last_held: domain": (
        {"last": {"state": "held", "held_for": "domain"}, "domain": "paused (5.7.1)"},
        "Did not get “Spring”: it is held because sending to the recipient’s domain is paused (5.7.1).",
    ),
    "last_held: pause": (
        {"last": {"state": "held", "held_for": "pause"}},
        "Did not get “Spring”: it is held from a pause, and is sent soon.",
    ),
    "last_held: for a person": (
        {"last": {"state": "held", "last_error": "The answer was lost."}},
        "Did not get “Spring”: it is held for you (The answer was lost).",
    ),
    "last_failed": (
        {"last": {"state": "failed", "last_error": "550 5.7.1 Blocked."}},
        "Did not get “Spring” of 24 Nov: it was refused (550 5.7.1 Blocked).",
    ),
    "last_cancelled: the issue": (
        {"issue": CANCELLED, "last": {"state": "cancelled", "last_error": "The issue was cancelled."}},
        "Did not get “Spring” of 24 Nov: the issue was cancelled.",
    ),
    "last_cancelled: their own": (
        {"last": {"state": "cancelled", "last_error": "Paused until 2026-11-25 00:00 CET."}},
        "Did not get “Spring” of 24 Nov: Paused until 2026-11-25 00:00 CET.",
    ),
    "last_waits": ({"last": {"state": "queued"}}, "Does not have “Spring” yet: it waits to be sent."),
    "last_waits: now": ({"last": {"state": "sending"}}, "Does not have “Spring” yet: it is being sent."),
    "last_waits: again": (
        {"last": {"state": "deferred", "due_at": TOMORROW, "last_error": "451 Later."}},
        "Does not have “Spring” yet: it is tried again on 27 Nov at 10:00 (451 Later).",
    ),
    "last_waits: lane": (
        {"last": {"state": "queued"}, "lane": "paused (by hand)"},
        "Does not have “Spring” yet: the account that sends it is paused (by hand).",
    ),
    "last_waits: domain": (
        {"last": {"state": "deferred"}, "domain": "resting (421 Slow down)"},
        "Does not have “Spring” yet: sending to the recipient’s domain is resting (421 Slow down).",
    ),
    "last_waits: restore": (
        {"last": {"state": "queued"}, "is_restoring": True},
        "Does not have “Spring” yet: all that was unsent is held because a backup was restored; decide on the"
        " overview.",
    ),
    "last_stored": (
        {"last": {"state": "stored", "sent_at": YESTERDAY}},
        "Did not get “Spring”: it was kept in the mailbox here on 25 Nov, not sent.",
    ),
    "takes_over": (
        {"here": change(by="The Daily", at=TOMORROW)},
        "Gets nothing yet: gets The Daily until the change takes effect, on 27 Nov.",
    ),
    "in_series": (
        {"series_first": True, "issue": {}, "closes_at": TOMORROW},
        "Gets nothing yet: gets the series first, and the newsletter after it. The next issue is sent on"
        " 27 Nov at 10:00.",
    ),
    "confirmed_later": (
        {"mine": {"confirmed_at": YESTERDAY}, "closes_at": TOMORROW, "issue": {}},
        "Gets nothing yet: confirmed on 25 Nov, after the last issue of 24 Nov. The next issue is sent on"
        " 27 Nov at 10:00.",
    ),
    "not_among": (
        {"issue": {}},
        "Gets nothing yet: was not among the recipients of the last issue, of 24 Nov.",
    ),
    "not_among: cancelled": (
        {"issue": CANCELLED},
        "Gets nothing yet: the last issue, of 24 Nov, was cancelled.",
    ),
    "no_feed": (
        {"newsletter": {"all_feeds": 0, "read_feeds": 0}},
        "Gets nothing yet: this newsletter has no feed.",
    ),
    "stopped": (
        {"newsletter": {"stopped": True}},
        "Gets nothing yet: this newsletter is stopped and adds no new posts.",
    ),
    "feeds_unread": (
        {"newsletter": {"read_feeds": 0}},
        "Gets nothing yet: no feed of this newsletter is read: all are paused or stopped.",
    ),
    "awaits_approval": ({"draft": {}}, "Gets nothing yet: the first issue waits for your approval."),
    "no_post": (
        {"newsletter": {"brings_posts": False}},
        "Gets nothing yet: its feeds have no post to send. The next issue is sent when a post settles.",
    ),
    "first_issue": (
        {"closes_at": TOMORROW},
        "Nothing was sent yet. The next issue is sent on 27 Nov at 10:00.",
    ),
    "first_issue: release": (
        {"draft": {"release_at": TOMORROW}},
        "Nothing was sent yet. The next issue is sent on 27 Nov at 10:00.",
    ),
    "first_issue: could not be made": (
        {"collected": 2, "collect_error": "No template “x”."},
        "Nothing was sent yet. The next issue couldn’t be created, and is retried (No template “x”).",
    ),
    "sent": (
        {"last": {"state": "sent", "sent_at": YESTERDAY}, "closes_at": TOMORROW},
        "Gets it: “Spring” was sent on 25 Nov. The next issue is sent on 27 Nov at 10:00.",
    ),
    "sent: changes": (
        {"last": {"state": "sent"}, "away": change("The Weekly", at=TOMORROW)},
        "Gets it: “Spring” was sent on 24 Nov. Changes to The Weekly on 27 Nov.",
    ),
    "sent: the next one waits": (
        {"last": {"state": "sent"}, "draft": {}},
        "Gets it: “Spring” was sent on 24 Nov. The next issue waits for your approval.",
    ),
    "sent: the last one": (
        {"last": {"state": "sent"}, "newsletter": {"stopped": True}},
        "Gets it: “Spring” was sent on 24 Nov.",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_each_reason_is_one_sentence(name: str) -> None:
    given_facts, said = CASES[name]
    found = reach(facts(**given_facts))
    assert found.reason == name.partition(":")[0]
    assert found.sentence.startswith(said)
    assert found.is_reached == (found.reason in ("sent", "first_issue"))


def test_every_rule_has_a_case() -> None:
    named = {name.partition(":")[0] for name in CASES}
    assert named == {*ORDER, *(rule.__name__ for rule in rules.NOT_YET_RULES), "sent", "first_issue"}


def merged(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    """Combine two cases; the first wins where both differ."""
    parts = {name: {**part, **first.get(name, {})} for name, part in second.items() if isinstance(part, dict)}
    return {**second, **first, **parts}


@given(st.sampled_from(sorted(CASES)), st.sampled_from(sorted(CASES)))
def test_the_more_fundamental_reason_comes_first(one: str, other: str) -> None:
    personal = [rule.__name__ for rule in (*rules.PERSONAL, *rules.BLOCKING)]
    names = [name.partition(":")[0] for name in (one, other)]
    if names[0] not in personal or names[1] in personal[: personal.index(names[0])]:
        return
    assert reach(facts(**merged(CASES[one][0], CASES[other][0]))).reason == names[0]


@pytest.mark.parametrize("name", CASES)
def test_a_reason_of_the_person_is_known_without_a_newsletter(name: str) -> None:
    given_facts, said = CASES[name]
    is_personal = name.partition(":")[0] in PERSONAL
    every = facts(**given_facts) if is_personal else facts()
    person = PersonFacts(now=NOW, zone=AMSTERDAM, person=every.person, suppression=every.suppression)
    found = person_reach(person)
    assert (found.sentence if found else "") == (said if is_personal else "")


@pytest.mark.parametrize(
    ("status", "is_suppressed", "is_paused", "is_newsletter_paused", "draft", "last"),
    list(product(STATUSES, (False, True), (False, True), (False, True), DRAFTS, LASTS)),
)
def test_every_combination_gives_the_reason_that_a_person_would_give(
    *, status: str, is_suppressed: bool, is_paused: bool, is_newsletter_paused: bool, draft: str, last: Any
) -> None:
    found = reach(
        facts(
            suppression={"created_at": YESTERDAY} if is_suppressed else None,
            mine={**STATUSES[status], "paused_until": TOMORROW if is_paused else None},
            confirmation="sent",
            confirm_until=TOMORROW,
            newsletter=PAUSED if is_newsletter_paused else {},
            draft=DRAFTS[draft][0],
            closes_at=TOMORROW,
            last=last,
        )
    )
    nothing = {
        "on the Do not email list": is_suppressed,
        "unsubscribed on": status == "unsubscribed",
        "not confirmed yet": status == "unconfirmed",
        "paused by the subscriber": is_paused,
        "sending of this newsletter is paused": is_newsletter_paused,
    }
    reason = next((words for words, applies in nothing.items() if applies), None)
    if reason is not None:
        assert found.sentence.startswith(f"Gets nothing: {reason}")
        assert found.answer.startswith(f"No: {reason}")
        return
    assert DRAFTS[draft][1] in found.sentence
    state = (last or {}).get("state")
    assert found.is_reached == found.answer.startswith("Yes")
    assert found.is_reached == (state == "sent" or (state is None and draft != "approval"))
    assert found.answer.startswith({"failed": "Did not get", "queued": "Does not have"}.get(state or "", ""))


@pytest.mark.parametrize("name", CASES)
def test_the_answer_of_a_list_has_no_more_than_the_reason(name: str) -> None:
    found = reach(facts(**CASES[name][0]))
    assert found.answer.partition(":")[0].partition(" “")[0] in (
        *("Yes", "Yes, from the next issue", "No", "Not yet"),
        *("Did not get", "Does not get", "Does not have"),
    )
    assert not found.answer.endswith(".")
    assert len(found.answer.split()) <= 12


@pytest.mark.parametrize(
    ("reaches", "answer"),
    [
        ([], "No: subscribed to nothing"),
        ([NO], "No: paused"),
        ([NO, NO], "No: paused"),
        ([YES, SOON], "Yes"),
        ([KEPT], "Yes"),
        ([KEPT, NO], "Yes: 1 of 2 newsletters"),
        ([YES, GONE], "Yes"),
        ([GONE, GONE], "No: unsubscribed"),
        ([YES, NO, GONE], "Yes: 1 of 2 newsletters"),
        ([NO, Reach("last_failed", "Did not get it.")], "No: none of 2 newsletters"),
    ],
)
def test_a_person_with_several_newsletters_has_one_answer(reaches: list[Reach], answer: str) -> None:
    assert answer_of_all(reaches) == answer
