"""iffy:hint-announce: never is never sent, piggyback only beside something else.

A post's fate in one sentence.
"""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from delivery.rules.posts import (
    MOST_ASKED,
    WHY_LEFT_OUT,
    ItemPlace,
    announced,
    asked_words,
    fate_sentence,
    searchable,
    until_words,
    waits_in_collection,
)
from feeds.parsing.entry import Entry
from subscriptions.rules.completion import CollectionFacts

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
DAY = timedelta(days=1)
NEW_YORK = ZoneInfo("America/New_York")
DECEMBER = datetime(2026, 12, 1, 12, tzinfo=UTC)
SENT = tuple(ItemPlace(name, "sent") for name in ("Daily", "Weekly", "Each", "Daily"))
HINTS = st.lists(st.sampled_from(["", "never", "piggyback"]), max_size=8)


def posts(hints: list[str]) -> list[Entry]:
    return [Entry(guid=str(number), announce=hint) for number, hint in enumerate(hints)]


@pytest.mark.parametrize(
    ("hints", "sent"),
    [
        ([], []),
        ([""], [0]),
        (["never"], []),
        (["piggyback"], []),
        (["piggyback", "piggyback"], []),
        (["piggyback", "never"], []),
        (["piggyback", ""], [0, 1]),
        (["", "never", "piggyback", ""], [0, 2, 3]),
    ],
)
def test_what_is_sent(hints: list[str], sent: list[int]) -> None:
    assert [int(post.guid) for post in announced(posts(hints))] == sent


@given(HINTS)
def test_an_ordinary_post_is_always_sent_and_a_never_one_never(hints: list[str]) -> None:
    sent = announced(posts(hints))
    assert [post for post in sent if post.announce == ""] == [
        one for one in posts(hints) if one.announce == ""
    ]
    assert all(post.announce != "never" for post in sent)


@given(HINTS)
def test_nothing_goes_out_on_piggybacks_alone(hints: list[str]) -> None:
    sent = announced(posts(hints))
    assert not sent or any(post.announce == "" for post in sent)


def test_every_hint_that_can_leave_a_post_out_has_its_sentence() -> None:
    assert set(WHY_LEFT_OUT) == {"never", "piggyback"}


@pytest.mark.parametrize(
    ("places", "said"),
    [
        (
            (*SENT, ItemPlace("Monthly", "waits", "until 1 December")),
            "Sent in 3 newsletters; waits in Monthly until 1 December.",
        ),
        (SENT[:2], "Sent in Daily and Weekly."),
        (
            (
                ItemPlace("Each", "sent"),
                ItemPlace("Monthly", "waits", "until 1 December", DECEMBER),
                ItemPlace("Draft", "waits", "for your approval"),
                ItemPlace("Weekly", "waits", "until 30 November", DECEMBER - DAY),
                ItemPlace("Daily", "waits", "until 23 November", NOW + DAY),
            ),
            "Sent in Each; waits in 3 newsletters, the next in Daily until 23 November; waits in Draft for"
            " your approval.",
        ),
        (
            (ItemPlace("Daily", "sending"), ItemPlace("Weekly", "left out", "its title contains “ad”.")),
            "Being sent in Daily; left out of Weekly: its title contains “ad”.",
        ),
        (
            (ItemPlace("Daily", "nobody"), ItemPlace("Weekly", "cancelled")),
            "Not sent: in the archive of Daily, which had no subscribers; cancelled in Weekly.",
        ),
        ((ItemPlace("Weekly", "left out", "it is an ad"),), "Not sent: left out of Weekly: it is an ad."),
        ((), "Held for you."),
    ],
)
def test_the_sentence_begins_with_what_readers_got(places: tuple[ItemPlace, ...], said: str) -> None:
    assert fate_sentence(places, "Held for you.") == said


def test_a_day_is_said_in_the_newsletters_zone_and_with_another_year_only() -> None:
    assert until_words(DECEMBER, NOW, NEW_YORK) == "until 1 December at 7:00, New York time"
    late = datetime(2027, 1, 1, 4, tzinfo=UTC)
    assert until_words(late, NOW, NEW_YORK) == "until 31 December at 23:00, New York time"
    assert until_words(late, NOW, ZoneInfo("UTC")) == "until 1 January 2027 at 4:00, UTC"


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"period_end": DECEMBER}, "until 1 December at 7:00, New York time"),
        ({"period_end": DECEMBER, "is_sent_now": True}, "and is sent within moments"),
        ({"period_end": NOW - DAY}, "and is sent within moments"),
        ({"capacity": 3}, "for 2 more posts"),
        (
            {"capacity": 2, "max_wait_days": 9},
            "for 1 more post, until 1 December at 7:00, New York time, at the latest",
        ),
        ({"capacity": 3, "takes_more": False}, "and is sent within moments"),
        ({}, "and is sent within moments"),
    ],
)
def test_a_post_in_a_collection_waits_for_its_end_or_for_other_posts(
    facts: dict[str, object], words: str
) -> None:
    collection = CollectionFacts(**{"count": 1, "opened_at": DECEMBER - 9 * DAY, **facts})  # type: ignore[arg-type]
    assert waits_in_collection(collection, NOW, NEW_YORK).words == words


def is_found(asked: str, *texts: str) -> bool:
    words = searchable(texts, most=100_000)
    return all(word in words for word in asked_words(asked))


def test_case_and_accents_do_not_matter() -> None:
    assert searchable(["Über das Café", "ÜBER Straßen"], most=100) == " uber das cafe strassen"
    assert is_found("STRASSE cafe", "Über das Café", "die Straßen")
    assert is_found("ÉTÉ", "l’été")


def test_all_words_are_asked_for_each_from_its_beginning() -> None:
    assert is_found("sun rain", "Rain, and", "sunny days")
    assert not is_found("rain snow", "Rain and sun")
    assert not is_found("train", "rain")
    assert not is_found("rain", "training")


def test_scripts_without_blanks_are_searched_anywhere() -> None:
    assert is_found("天気", "今日の天気はいい")
    assert not is_found("雪", "今日の天気はいい")


def test_each_word_is_kept_once_and_no_more_than_there_is_room_for() -> None:
    assert searchable(["rain rain", "Rain sun"], most=100) == " rain sun"
    assert searchable(["rain sun snow"], most=10) == " rain sun"
    assert asked_words(" ".join(map(str, range(100)))) == tuple(f" {number}" for number in range(MOST_ASKED))
    assert asked_words("% _ <>") == ()


@given(st.text(max_size=200), st.integers(min_value=0, max_value=200))
def test_what_is_written_is_found_and_bounded(text: str, most: int) -> None:
    assert len(searchable([text], most=most)) <= most
    assert is_found(text, text)
