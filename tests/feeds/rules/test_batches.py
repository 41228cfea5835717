"""A feed that shows only its latest day replaces all of its posts, and is no flood."""

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feeds.models import Item
from feeds.parsing.identity import link_hash
from feeds.parsing.likeness import likeness
from feeds.rules.facts import Document, Insert, Known, Seen
from feeds.rules.plan import plan_document
from tests.examples import examples
from tests.feeds.rules.blog import START, Rows, a_feed

NOW = datetime(2026, 5, 6, 12, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
Post = tuple[str, str, datetime | None]
LAST_TWO = (NOW - 26 * HOUR, NOW - 20 * HOUR)
NEXT_TWO = (NOW - HOUR * 2 / 3, NOW - HOUR / 3)


def seen(title: str, date: datetime | None, link: str) -> Seen:
    return Seen("h", date, link_hash(link), like=likeness(title, link))


def inserts(before: Sequence[Post], after: Sequence[Post], *, floods_sent: bool = False) -> list[Insert]:
    """Return the new posts of a document that shares no id with the one before. Posts: id, title, date."""
    formers = [
        Item(
            pk=pk,
            guid_hash=id_,
            link_hash=link_hash(f"https://a.example/{id_}"),
            title=title,
            published_at=date,
        )
        for pk, (id_, title, date) in enumerate(before)
    ]
    entries = {id_: seen(title, date, f"https://a.example/{id_}") for id_, title, date in after}
    ids = [id_ for id_, *_ in before]
    sent = NOW if floods_sent else None
    feed = a_feed(added_at=NOW - 30 * DAY, fetched_through=NOW - HOUR, floods_sent_at=sent)
    known = Known((), ids, formers=formers, order=ids)
    return plan_document(Document(tuple(entries), entries), known, feed, moment=NOW).insert


def held(before: Sequence[Post], after: Sequence[Post], **options: bool) -> bool:
    (answer,) = {insert.held for insert in inserts(before, after, **options)}
    return answer


def batch(day: int, count: int, *dates: datetime, title: str = "Chapter {}") -> list[Post]:
    return [(f"{day}-{n}", title.format(day * 100 + n), dates[n * len(dates) // count]) for n in range(count)]


@pytest.mark.parametrize("count", [2, 9, 20])
def test_one_date_of_all_posts_counts_where_it_is_newer_than_before(count: int) -> None:
    yesterday, today = batch(1, count, NOW - DAY), batch(2, count, NOW - timedelta(minutes=10))
    assert not held(yesterday, today)
    assert held(yesterday, batch(2, count, NOW - DAY)), "the date of before says nothing"


def test_one_date_of_all_posts_does_not_count_where_they_were_spread_out_before() -> None:
    blog = [(f"b{n}", f"Thoughts {n}", NOW - n * 3 * DAY) for n in range(1, 6)]
    assert held(blog, batch(2, 5, NOW)), "another site, whose dates are those of its making"


def test_two_groups_of_one_date_each_are_not_held_when_they_replace_those_of_the_day_before() -> None:
    assert not held(batch(1, 20, *LAST_TWO), batch(2, 20, *NEXT_TWO))


def test_a_day_that_appears_after_its_end_is_not_held() -> None:
    late = (NOW - 18 * HOUR, NOW - 6 * HOUR)
    assert not held(batch(1, 20, NOW - 42 * HOUR, NOW - 30 * HOUR), batch(2, 20, *late))


def test_a_day_of_which_a_half_is_dated_like_the_last_one_is_not_held() -> None:
    yesterday = batch(1, 20, NOW - 48 * HOUR, NOW - 24 * HOUR)
    assert not held(yesterday, batch(2, 20, NOW - 24 * HOUR, NOW))


def test_many_posts_without_titles_are_a_flood_whatever_their_dates() -> None:
    assert held(batch(1, 20, *LAST_TWO, title=""), batch(2, 20, *NEXT_TWO, title=""))
    assert not held(batch(1, 9, *LAST_TWO, title=""), batch(2, 9, *NEXT_TWO, title=""))


@pytest.mark.parametrize("title", ["Open thread", "Part {}"])
def test_titles_that_come_again_are_not_held_with_newer_dates(title: str) -> None:
    yesterday = batch(1, 20, *LAST_TWO, title=title)
    today = batch(2, 20, *NEXT_TWO, title=title)
    assert not held(yesterday, today)
    numbered = [(id_, f"Part {n}", date) for n, (id_, _, date) in enumerate(yesterday)]
    again = [(id_, f"Part {n}", date) for n, (id_, _, date) in enumerate(today)]
    assert not held(numbered, again)


def test_a_title_with_its_date_shows_that_the_site_moved() -> None:
    yesterday, today = batch(1, 6, *LAST_TWO), batch(2, 6, *NEXT_TWO)
    known = ("x", yesterday[0][1], yesterday[0][2])
    twice = ("y", *known[1:])
    found = inserts(yesterday, [*today[:3], known, twice])
    assert {insert.held for insert in found} == {True}


def test_most_titles_at_an_import_s_dates_show_it_too() -> None:
    blog = [(f"b{n}", f"Thoughts {n}", NOW - n * DAY) for n in range(1, 8)]
    minutes = [timedelta(minutes=n) for n in range(8)]
    assert held(blog, [(f"i{n}", f"Thoughts {n}", NOW - minutes[n]) for n in range(1, 8)])
    built = [(f"b{n}", f"Thoughts {n}", NOW - DAY) for n in range(7)]
    assert held(built, [(f"c{n}", f"Thoughts {n}", NOW) for n in range(7)]), "new ids at each build"


def test_a_feed_of_one_post_may_use_its_title_again_with_a_newer_date() -> None:
    assert not held([("a", "Open thread", NOW - DAY)], [("b", "Open thread", NOW)])
    assert held([("a", "Open thread", None)], [("b", "Open thread", None)])


def test_many_posts_at_once_are_a_flood_where_the_feed_shows_what_it_wrote_in_weeks() -> None:
    blog = [(f"b{n}", f"Thoughts {n}", NOW - n * DAY) for n in range(1, 21)]
    assert held(blog, batch(2, 20, *NEXT_TWO))
    assert held(batch(1, 4, *LAST_TWO), batch(2, 20, *NEXT_TWO)), "far more than it is used to"


def test_after_a_flood_was_sent_only_an_older_document_of_which_nothing_is_known_is_held() -> None:
    blog = [(f"b{n}", f"Thoughts {n}", NOW - n * DAY) for n in range(1, 21)]
    undated = [(f"u{n}", f"Words {n}", None) for n in range(20)]
    assert held(undated, [(f"v{n}", f"More {n}", None) for n in range(20)])
    for after in (batch(2, 20, *NEXT_TWO), [(f"v{n}", f"More {n}", None) for n in range(20)]):
        assert not held(blog, after, floods_sent=True)
    assert held(blog, [(f"o{n}", f"Old {n}", NOW - (n + 5) * DAY) for n in range(20)], floods_sent=True)


@st.composite
def days(draw: st.DrawFn) -> list[list[Post]]:
    """Draw posts for each day: new ids, later dates than the day before, titles that may repeat."""
    count = draw(st.integers(2, 25))
    titles = draw(st.sampled_from(("Chapter {}", "Part of the day", "mixed")))
    found, number = list[list[Post]](), 0
    for day in range(draw(st.integers(2, 6))):
        groups = sorted(draw(st.sets(st.integers(6, 20), min_size=2, max_size=3)))
        posts = list[Post]()
        for place in range(max(2, count - draw(st.integers(0, count // 3)))):
            number += 1
            title = (
                draw(st.sampled_from(("Open thread", f"Chapter {number}"))) if titles == "mixed" else titles
            )
            date = START + (day - 1) * DAY + groups[place * len(groups) // count] * HOUR
            posts.insert(0, (f"id{number}", title.format(number), date))
        found.append(posts)
    return found


@settings(max_examples=examples(200))
@given(days(), st.integers(0, 300))
def test_whatever_replaces_the_posts_of_the_day_before_is_sent_once(
    story: list[list[Post]], minutes_late: int
) -> None:
    rows, sent = Rows(a_feed()), Counter[str]()
    late = timedelta(minutes=minutes_late)
    for day, posts in enumerate(story):
        entries = {id_: seen(title, date, f"https://a.example/{id_}") for id_, title, date in posts}
        document = Document(tuple(entries), entries)
        shown = START + (day - 1) * DAY + 20 * HOUR + late
        for moment in (shown, shown + 31 * timedelta(minutes=1), shown + 3 * HOUR):
            rows.apply(rows.plan(document, moment), document, moment)
            assert not rows.held()
        for row in rows.unassigned():
            assert row.final_at
            sent[row.guid_hash] += 1
            rows.change(row.pk, state="cleared", content_hash="")
    assert sent == Counter(id_ for posts in story[1:] for id_, *_ in posts)
