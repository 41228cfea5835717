from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from delivery.rendering import subjects
from tests.delivery.rendering.samples import NOW, entry, facts, one


def test_each_post_is_announced_by_its_title() -> None:
    assert subjects.subject(one(entry(title="Rain"))) == "[The Valley Weekly] New Post: Rain"
    assert subjects.title(one(entry(title="Rain"))) == "Rain"


def test_an_untitled_post_says_so() -> None:
    assert subjects.subject(one(entry(title=" \n"))) == "[The Valley Weekly] New Untitled Post"
    assert subjects.title(one(entry(title=""))) == "Untitled post"


def test_the_name_stands_in_for_a_missing_title() -> None:
    assert subjects.subject(one(entry(title="Rain"), newsletter="")) == "[valley] New Post: Rain"


def test_a_daily_is_named_by_the_local_day_its_period_began() -> None:
    start = datetime(2026, 3, 1, 20, tzinfo=UTC)
    daily = facts(arrangement="daily", period_start=start, time_zone="Asia/Kolkata")
    assert subjects.subject(daily) == "[The Valley Weekly] All posts, 2026-03-02"
    assert subjects.dateline(daily) == "March 2, 2026"


@pytest.mark.parametrize("arrangement", ["weekly", "monthly", "cron"])
def test_other_periods_are_named_by_the_days_of_their_posts(arrangement: str) -> None:
    assert subjects.title(facts(arrangement=arrangement)) == "Posts, 2026-03-05 to 2026-03-07"
    assert subjects.title(facts(entry(2), arrangement=arrangement)) == "Posts from 2026-03-06"


def test_posts_without_dates_are_named_by_the_period_whose_end_is_not_in_it() -> None:
    start, end = datetime(2026, 3, 2, tzinfo=UTC), datetime(2026, 3, 9, tzinfo=UTC)
    undated = facts(entry(published=None), period_start=start, period_end=end)
    assert subjects.title(undated) == "Posts, 2026-03-02 to 2026-03-08"


def test_a_date_in_the_future_counts_as_today() -> None:
    assert subjects.title(facts(entry(published=NOW + timedelta(days=9000)))) == "Posts from 2026-03-08"


def test_every_n_is_named_by_its_count() -> None:
    several = {"arrangement": "every_n", "period_start": None, "period_end": None}
    assert subjects.subject(facts(**several)) == "[The Valley Weekly] 3 new items"
    assert subjects.subject(facts(entry(1), **several)) == "[The Valley Weekly] 1 new item"


def test_a_percent_sign_in_a_title_is_only_a_percent_sign() -> None:
    assert subjects.subject(one(entry(title="100%s %(title)s"))).endswith("New Post: 100%s %(title)s")


@given(st.text(), st.text())
def test_a_subject_is_one_bounded_line(title: str, name: str) -> None:
    subject = subjects.subject(one(entry(title=title * 20), newsletter=name * 20))
    assert len(subject) <= 200
    assert len(subject.splitlines()) == 1
    assert not any(ord(character) < 32 or ord(character) == 127 for character in subject)
