from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from delivery.rendering import subjects
from delivery.rendering.facts import ThemeFacts
from tests.delivery.rendering.samples import NOW, entry, facts, one


def test_each_post_is_announced_by_its_title() -> None:
    assert subjects.subject_line(one(entry(title="Rain"))) == "[The Valley Weekly] New Post: Rain"
    assert subjects.title(one(entry(title="Rain"))) == "Rain"


def test_an_untitled_post_says_so() -> None:
    assert subjects.subject_line(one(entry(title=" \n"))) == "[The Valley Weekly] New Untitled Post"
    assert subjects.title(one(entry(title=""))) == "Untitled post"


def test_the_name_stands_in_for_a_missing_title() -> None:
    assert subjects.subject_line(one(entry(title="Rain"), newsletter="")) == "[valley] New Post: Rain"


def test_a_daily_is_named_by_the_local_day_its_period_began() -> None:
    start = datetime(2026, 3, 1, 20, tzinfo=UTC)
    daily = facts(arrangement="daily", period_start=start, time_zone="Asia/Kolkata")
    assert subjects.subject_line(daily) == "[The Valley Weekly] All posts, 2026-03-02"
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
    assert subjects.subject_line(facts(**several)) == "[The Valley Weekly] 3 new items"
    assert subjects.subject_line(facts(entry(1), **several)) == "[The Valley Weekly] 1 new item"


def test_a_percent_sign_in_a_title_is_only_a_percent_sign() -> None:
    assert subjects.subject_line(one(entry(title="100%s %(title)s"))).endswith("New Post: 100%s %(title)s")


@given(st.text(), st.text())
def test_a_subject_is_one_bounded_line(title: str, name: str) -> None:
    subject = subjects.subject_line(one(entry(title=title * 20), newsletter=name * 20))
    assert len(subject) <= 200
    assert len(subject.splitlines()) == 1
    assert not any(ord(character) < 32 or ord(character) == 127 for character in subject)


def patterned(pattern: str, title: str = "Rain") -> str:
    return subjects.subject_line(one(entry(title=title), theme=ThemeFacts(subject=pattern)))


def test_a_pattern_words_the_subject() -> None:
    assert patterned("{newsletter}: {title}") == "The Valley Weekly: Rain"
    assert patterned("Rain!") == "Rain!"
    weekly = facts(theme=ThemeFacts(subject="{count} posts, {date}: {title}"))
    assert subjects.subject_line(weekly) == (
        "3 posts, March 5, 2026 – March 7, 2026: Posts, 2026-03-05 to 2026-03-07"
    )


def test_what_a_title_has_in_braces_stays_text() -> None:
    assert patterned("{title}", "{newsletter} {nope}") == "{newsletter} {nope}"
    assert patterned("{title}", "a\r\nBcc: b") == "a Bcc: b"
    assert len(patterned("{title} {title}", "x" * 300)) == 200


def test_a_pattern_that_comes_to_nothing_is_the_usual_subject() -> None:
    assert patterned(" ") == "[The Valley Weekly] New Post: Rain"


@pytest.mark.parametrize("pattern", ["", "Plain", "{newsletter}", "{title}{count} {date}"])
def test_patterns_of_what_there_is_are_taken(pattern: str) -> None:
    subjects.check_pattern(pattern)


@pytest.mark.parametrize(
    "pattern", ["{Title}", "{0}", "{}", "{title.x}", "{title!r}", "{{title}}", "{title", "a } b"]
)
def test_other_patterns_are_refused_with_what_there_is(pattern: str) -> None:
    with pytest.raises(subjects.BadPattern, match=r"\{newsletter\}, \{title\}, \{count\}, \{date\}"):
        subjects.check_pattern(pattern)
