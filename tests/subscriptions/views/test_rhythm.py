"""The rhythm in the reader's words."""

from zoneinfo import ZoneInfo

from django.utils import translation
from hypothesis import given
from hypothesis import strategies as st

from subscriptions.rules.schedule import Schedule
from subscriptions.rules.words import describe
from subscriptions.views.rhythm import in_words
from tests.subscriptions.rules.strategies import schedules, zones


@given(schedules | st.sampled_from([Schedule("each"), Schedule("every_n")]), st.integers(1, 40), zones)
def test_in_english_readers_read_what_admins_do(schedule: Schedule, n: int, zone: ZoneInfo) -> None:
    words = describe(schedule, n, zone)
    with translation.override("en"):
        assert in_words(schedule, n, zone) == words[0].upper() + words[1:]


def test_days_are_bare_numbers_in_other_languages() -> None:
    with translation.override("fr"):
        assert "22nd" not in in_words(Schedule("monthly", day_of_month=22), None, ZoneInfo("UTC"))
