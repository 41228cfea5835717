"""Dates as feeds and lists write them.

Dates in any format. (Dates of real feeds are in tests/fixtures/feeds/odd/dates.)
"""

from datetime import UTC, date, datetime, time, timedelta

import pytest
from django.template import Context, Template
from django.utils import timezone, translation
from hypothesis import given
from hypothesis import strategies as st

from common.formats.dates import ago, clock, day_words, days_words, full_time
from common.formats.written_dates import parsed_moment, slack_of

NINE = datetime(2026, 5, 4, 9, 0, tzinfo=UTC)
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


@pytest.mark.parametrize(
    "text",
    [
        "2026-05-04T09:00:00Z",
        "2026-05-04t09:00:00z",
        "2026-05-04T11:00:00.000000000+02:00",
        "2026-05-04T11:00:00,0+0200",
        "2026-05-04 11:00 +02",
        "20260504T090000Z",
        "2026/05/04 09:00:00 UTC",
        "2026-05-04T11:00+02:00[Europe/Berlin]",
        "Mon, 04 May 2026 09:00:00 GMT",
        "Mon, 4 May 2026 11:00:00 +02:00",
        " 04 May 26 05:00 EDT ",
        "Mon May  4 09:00:00 2026",
        "2026年5月4日 09:00",
        "Mon, 04 May 2026 11:00:00 CEST",
        "Mon, 04 May 2026 11:00:00 MESZ",
        "Mon, 04 May 2026 10:00:00 BST",
        "Mon, 04 May 2026 18:00:00 JST",
        "Mon, 04 May 2026 14:30:00 IST",
        "Mon, 04 May 2026 12:00:00 MSK",
        "Mon, 04 May 2026 19:00:00 AEST",
        "Mon, 04 May 2026 11:00:00 GMT+2",
        "Mon, 04 May 2026 11:00:00 Europe/Berlin",
        "2026-05-04 11:00:00 Europe/Berlin",
        "2026-05-04 11:00 CEST",
        "May 4, 2026 9:00 AM",
        "Monday, May 4, 2026 - 09:00",
        "Monday, 4 May 2026 at 09:00",
        "04.05.2026 09:00",
        "Montag, 4. Mai 2026, 09:00 Uhr",
        "lundi 4 mai 2026 à 09h00",
        "4 de mayo de 2026 09:00",
        "4 мая 2026 г. 09:00",
        "1777885200",
        "1777885200000",
    ],
)
def test_it_is_nine_oclock(text: str) -> None:
    assert parsed_moment(text) == NINE


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-05-04", datetime(2026, 5, 4, tzinfo=UTC)),
        ("2016-12-31T23:59:60Z", datetime(2017, 1, 1, tzinfo=UTC)),
        ("Sat, 31 Dec 2016 23:59:60 GMT", datetime(2017, 1, 1, tzinfo=UTC)),
        ("2026-05-03T24:00:00Z", datetime(2026, 5, 4, tzinfo=UTC)),
        ("2026-05-04T09:00:00.1234567Z", NINE.replace(microsecond=123456)),
        ("January 29, 2021 04:42 PM", datetime(2021, 1, 29, 16, 42, tzinfo=UTC)),
        ("Jan 29, 2021 04:42 am", datetime(2021, 1, 29, 4, 42, tzinfo=UTC)),
        ("Fri, 29 Jan 2021 12:05:10 AM GMT", datetime(2021, 1, 29, 0, 5, 10, tzinfo=UTC)),
        ("29 Jan 2021 12:42 p.m. +0100", datetime(2021, 1, 29, 11, 42, tzinfo=UTC)),
        ("Nov 15, 2025", datetime(2025, 11, 15, tzinfo=UTC)),
        ("15.11.2025", datetime(2025, 11, 15, tzinfo=UTC)),
        ("15 décembre 2025", datetime(2025, 12, 15, tzinfo=UTC)),
        ("2021-01-29 04:42 PM", datetime(2021, 1, 29, 16, 42, tzinfo=UTC)),
    ],
)
def test_it_is_that_moment(text: str, moment: datetime) -> None:
    assert parsed_moment(text) == moment


@pytest.mark.parametrize(
    "nothing",
    [
        "",
        None,
        7,
        ["2026-05-04"],
        "yesterday",
        "2026-02-31T09:00:00Z",
        "0000-00-00 00:00:00",
        "Wed, 30 Nov -0001 00:00:00 +0000",
        "Mon, 01 Jan 0001 00:00:00 GMT",
        "17463492",
        "Mon, 04 May 2026 09:00:00 Mars/Olympus",
        "Mon, 04 May 2026 09:00:00 QQQT",
        "4 Smarch 2026 09:00",
        "32.05.2026 09:00",
        "9999-12-31T23:59:59-12:00",
        "2026-05-04T25:00:00Z",
        "2026-05-04T24:00:01Z",
        "2026-05-04" * 50,
    ],
)
def test_it_is_no_date(nothing: object) -> None:
    assert parsed_moment(nothing) is None


@given(st.text(max_size=40) | st.from_regex(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9:.,]{0,20}[Z+-][0-9:]{0,5}"))
def test_any_text_is_a_moment_in_utc_or_none(text: str) -> None:
    found = parsed_moment(text)
    assert found is None or found.tzinfo is UTC


@pytest.mark.parametrize(
    ("text", "hours"),
    [
        ("Mon, 04 May 2026 09:00:00 GMT", 0),
        ("Mon, 4 May 2026 09:00:00 +0200", 0),
        ("2026-05-04T09:00:00Z", 0),
        ("2026-05-04T09:00:00.123+00:00", 0),
        ("2026-05-04T10:00:00-00:00", 0),
        ("2026-05-04", 36),
        ("Mon, 04 May 2026", 36),
        ("2026-05-04T00:00:00+02:00", 36),
        ("Mon, 04 May 2026 00:00:00 +0000", 36),
        ("Mon, 04 May 2026 00:00 GMT", 36),
        ("2026-05-04T09:00:00", 12),
        ("Mon, 04 May 2026 09:00:00", 12),
        ("May 4, 2026 09:00 PM", 12),
        ("Mon May  4 09:00:00 2026", 12),
        ("", 0),
    ],
)
def test_a_date_without_time_or_zone_may_be_later(text: str, hours: int) -> None:
    assert slack_of(text) == timedelta(hours=hours)
