import pytest

from feeds.rules.item_status import WHY, because, every, in_short


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
