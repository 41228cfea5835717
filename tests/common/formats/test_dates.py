from datetime import UTC, date, datetime, time, timedelta

import pytest
from django.template import Context, Template
from django.utils import timezone, translation

from common.formats.dates import ago, clock, day_words, days_words, full_time

DAY = date(2026, 3, 5)


@pytest.mark.parametrize(
    ("language", "day", "days", "years"),
    [
        ("en", "March 5, 2026", "March 5–7, 2026", "December 31, 2025 – March 5, 2026"),
        ("en-gb", "5 March 2026", "5–7 March 2026", "31 December 2025 – 5 March 2026"),
        ("de", "5. März 2026", "5.–7. März 2026", "31. Dezember 2025 – 5. März 2026"),
        ("fr", "5 mars 2026", "5–7 mars 2026", "31 décembre 2025 – 5 mars 2026"),
        ("es", "5 de marzo de 2026", "5–7 de marzo de 2026", "31 de diciembre de 2025 – 5 de marzo de 2026"),
        ("pt", "5 de março de 2026", "5–7 de março de 2026", "31 de dezembro de 2025 – 5 de março de 2026"),
        ("ja", "2026年3月5日", "2026年3月5日 – 3月7日", "2025年12月31日 – 2026年3月5日"),
    ],
)
def test_days_have_the_form_of_their_language(language: str, day: str, days: str, years: str) -> None:
    with translation.override(language):
        made = day_words(DAY), days_words(DAY, date(2026, 3, 7)), days_words(date(2025, 12, 31), DAY)
    assert tuple(each.replace("\xa0", " ").casefold() for each in made) == tuple(
        each.casefold() for each in (day, days, years)
    )


def test_the_first_of_a_month_is_an_ordinal_in_french_and_in_brazil() -> None:
    first = date(2026, 3, 1)
    with translation.override("fr"):
        assert day_words(first) == "1er\xa0mars\xa02026"
        assert days_words(first, DAY) == "1er–5\xa0mars\xa02026"
        assert days_words(first, date(2026, 4, 1)) == "1er\xa0mars\xa0– 1er\xa0avril\xa02026"
        assert day_words(date(2026, 3, 11)) == "11\xa0mars\xa02026"
    with translation.override("pt-br"):
        assert day_words(first) == "1º\xa0de\xa0março\xa0de\xa02026"


@pytest.mark.parametrize(("language", "words"), [("en", "7:05"), ("en-gb", "7:05"), ("fr", "07:05")])
def test_a_time_has_one_form_in_a_language(language: str, words: str) -> None:
    with translation.override(language):
        assert clock(time(7, 5)) == words
        assert full_time(datetime(2026, 3, 5, 7, 5, tzinfo=UTC)).endswith(f"2026, {words}")


def test_a_line_breaks_after_the_dash_only() -> None:
    assert day_words(DAY) == "March\xa05,\xa02026"
    assert days_words(DAY, DAY) == day_words(DAY)
    assert days_words(DAY, date(2026, 3, 7)) == "March\xa05–7,\xa02026"
    assert days_words(DAY, date(2026, 4, 7)).split(" ") == ["March\xa05\xa0–", "April\xa07,\xa02026"]


def test_templates_show_a_moments_day_in_the_zone_they_are_in() -> None:
    night = datetime(2026, 3, 5, 23, 30, tzinfo=UTC)
    template = Template("{{ moment|day }}|{{ nothing|day }}")
    with timezone.override("Asia/Tokyo"):
        assert template.render(Context({"moment": night, "nothing": None})) == "March\xa06,\xa02026|"


@pytest.mark.parametrize(
    ("language", "hours", "full"),
    [
        ("en", "2 hours ago", "March 5, 2026, 14:07"),
        ("de", "vor 2 Stunden", "5. März 2026, 14:07"),
        ("fr", "il y a 2 heures", "5 mars 2026, 14:07"),
        ("es", "hace 2 horas", "5 de marzo de 2026, 14:07"),
        ("pt", "há 2 horas atrás", "5 de março de 2026, 14:07"),
    ],
)
def test_how_long_ago_is_said_in_the_language_of_the_reader(language: str, hours: str, full: str) -> None:
    with translation.override(language):
        assert ago(timezone.now() - timedelta(hours=2, minutes=9)).replace("\xa0", " ") == hours
        assert full_time(datetime(2026, 3, 5, 14, 7, tzinfo=UTC)).replace("\xa0", " ") == full


@pytest.mark.parametrize(
    ("age", "words"),
    [
        (timedelta(minutes=1, seconds=5), "a minute ago"),
        (timedelta(hours=23, minutes=59), "23\xa0hours ago"),
        (timedelta(hours=25), "1 day ago"),
        (timedelta(days=6, hours=23), "6 days ago"),
    ],
)
def test_of_the_last_week_the_age_is_said(age: timedelta, words: str) -> None:
    assert ago(timezone.now() - age) == words


@pytest.mark.parametrize("age", [timedelta(days=7, minutes=1), timedelta(days=900), timedelta(hours=-1)])
def test_of_all_else_the_day_is_said(age: timedelta) -> None:
    moment = timezone.now() - age
    assert ago(moment) == day_words(moment)
    assert ago(None) == full_time(None) == ""
