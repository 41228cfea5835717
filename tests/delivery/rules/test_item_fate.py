"""A post's fate in one sentence."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from delivery.rules.posts import ItemPlace, fate_sentence, until_words, waits_in_collection
from subscriptions.rules.completion import CollectionFacts

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
DAY = timedelta(days=1)
NEW_YORK = ZoneInfo("America/New_York")
DECEMBER = datetime(2026, 12, 1, 12, tzinfo=UTC)
SENT = tuple(ItemPlace(name, "sent") for name in ("Daily", "Weekly", "Each", "Daily"))


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
