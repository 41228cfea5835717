"""The answers to “was it sent, and why not”."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from feeds.rules.finality import FLOOD, LEFT_WHILE_HELD
from feeds.rules.item_status import WHY, ItemStatus, because, every, explain, in_short, settles_at
from feeds.rules.reposts import REPOST
from tests.feeds.rules.blog import a_feed

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
FEED = a_feed()


def standing(**facts: Any) -> ItemStatus:
    since = NOW - timedelta(minutes=10)
    return ItemStatus(
        **{
            "state": "unassigned",
            "reason": "",
            "first_seen": since,
            "stable_since": since,
            "final": False,
            **facts,
        }
    )


def said(**facts: Any) -> str:
    return explain(standing(**facts), FEED, NOW)


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        (REPOST, "Not sent: it repeats an earlier post under a new id."),
        (FLOOD, "Not sent: it arrived with many others at once, and you chose not to send them."),
        (LEFT_WHILE_HELD, "Not sent: it left the feed while too many posts were held to keep it."),
    ],
)
def test_an_excluded_post_says_why(reason: str, words: str) -> None:
    assert said(state="excluded", reason=reason) == words


def test_a_held_post_waits_for_a_word() -> None:
    assert said(held=True) == (
        "Held for you: it arrived with many others at once. Send it, or choose not to."
    )
    assert "removed" in said(held=True, vanished=True)


def test_a_post_that_was_withdrawn_says_when_that_was() -> None:
    assert said(vanished=True) == "Not sent: it was removed from the feed before it settled."
    assert "before its issue was sent" in said(vanished=True, final=True)
    assert said(state="assigned", final=True, set_aside=True) == (
        "Ready, but its feed removed it since, so it is sent only if it reappears."
    )


def test_a_post_that_other_newsletters_take_says_which_one_had_it() -> None:
    reason = "It is not in “Weekly”, which has had this post from the feed “Mirror”."
    assert said(state="assigned", reason=reason).endswith(
        f"added to the next issues of its newsletters. {reason}"
    )
    assert said(state="cleared", reason=reason).startswith("Done: ")


def test_a_waiting_post_says_when_it_settles() -> None:
    assert said() == "Waiting: it settles in 21 minutes, if it doesn’t change."


def test_a_post_that_never_rests_says_so_and_waits_for_the_longest_delay() -> None:
    assert said(changes=2) == said()
    assert said(changes=3) == (
        "Waiting: it settles in 3 hours, even if it changes again. It changed at each "
        "of the last 3 readings, perhaps because of a clock, a counter or an ad in it. So it is sent after "
        "the longest delay, 180 minutes."
    )
    assert settles_at(standing(changes=3), FEED) == NOW + timedelta(minutes=171)


def test_a_post_that_rolled_off_says_so_besides() -> None:
    assert said(rolled_off=True).endswith("Newer posts pushed it out of the feed; the stored copy is sent.")


@pytest.mark.parametrize("code", WHY)
def test_every_reason_has_words_for_the_page_and_for_the_timeline(code: str) -> None:
    assert because(code, every_minutes=10)
    assert "{" not in because(code, every_minutes=10)
    assert in_short(code)


def test_the_interval_is_named() -> None:
    assert because("interval", every_minutes=10) == "it is read every 10 minutes"
    assert because("", every_minutes=120) == "it is read every 2 hours"


def test_a_feed_of_before_the_reasons_is_told_by_its_failures() -> None:
    assert "less and less" in because("", every_minutes=10, failing=True)
    assert in_short("nonsense") == ""


@pytest.mark.parametrize(
    ("minutes", "words"),
    [
        (0, "every minute"),
        (1, "every minute"),
        (45, "every 45 minutes"),
        (60, "every hour"),
        (90, "every 90 minutes"),
        (1440, "every day"),
        (10_080, "every 7 days"),
    ],
)
def test_lengths_are_said_as_people_say_them(minutes: int, words: str) -> None:
    assert every(minutes) == words


def test_every_reason_that_the_pace_gives_has_words() -> None:
    """Every string that rules.pace or the polling can store: a new one needs words."""
    assert {
        "interval", "settling", "rhythm", "warm_up", "cache", "ttl", "skip", "hub", "backoff", "retry_after",
        "hurry", "push",
    } <= set(WHY)  # fmt: skip
