"""Valid values of an admin's settings, and error messages.

How the address of a sign-up is counted: pure.
The fields of upstream's forms.
"""

from datetime import UTC, time
from zoneinfo import available_timezones

import pytest
from hypothesis import given
from hypothesis import strategies as st

from subscriptions.rules.limits import counted_as
from subscriptions.rules.schedule import Schedule
from subscriptions.rules.validation import (
    InvalidSchedule,
    UpstreamSignUp,
    WrongFields,
    check_schedule,
    check_zone,
    read_sign_up,
)
from tests.subscriptions.rules.strategies import schedules

WEEKLY = ("subscribableName", "weekly")


@given(name=st.sampled_from(sorted(available_timezones())))
def test_every_zone_of_the_database_is_taken(name: str) -> None:
    assert check_zone(name).key == name


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("america/new york", "Did you mean America/New_York"),
        ("Europe/Pariss", "Did you mean Europe/Paris"),
        ("America", "time zone “America”"),
        ("../../etc/passwd", "time zone"),
        ("right/UTC", "time zone"),
        ("", "Use one such as Europe/Paris"),
        ("\0", "Use one such as Europe/Paris"),
    ],
)
def test_an_unknown_zone_is_refused_with_what_may_have_been_meant(name: str, hint: str) -> None:
    with pytest.raises(ValueError, match="There is no time zone") as caught:
        check_zone(name)
    assert hint in str(caught.value)


def test_a_long_zone_name_is_cut_in_the_answer() -> None:
    with pytest.raises(ValueError, match="There is no time zone") as caught:
        check_zone("x" * 100_000)
    assert len(str(caught.value)) < 300


@given(schedule=schedules)
def test_a_right_schedule_gives_its_zone(schedule: Schedule) -> None:
    assert check_schedule(schedule, "Asia/Kolkata").key == "Asia/Kolkata"


@pytest.mark.parametrize(
    ("schedule", "zone", "field"),
    [
        (Schedule("daily"), "Mars/Olympus", "time_zone"),
        (Schedule("yearly"), "UTC", "arrangement"),
        (Schedule("daily", time(7, 0, 30)), "UTC", "at"),
        (Schedule("daily", time(7, tzinfo=UTC)), "UTC", "at"),
        (Schedule("weekly", weekday=7), "UTC", "weekday"),
        (Schedule("weekly", weekday=-1), "UTC", "weekday"),
        (Schedule("monthly", day_of_month=0), "UTC", "day_of_month"),
        (Schedule("monthly", day_of_month=32), "UTC", "day_of_month"),
        (Schedule("cron", cron="0 0 30 2 *"), "UTC", "cron"),
        (Schedule("cron"), "UTC", "cron"),
    ],
)
def test_a_wrong_detail_is_refused_at_its_field(schedule: Schedule, zone: str, field: str) -> None:
    with pytest.raises(InvalidSchedule) as caught:
        check_schedule(schedule, zone)
    assert caught.value.field == field
    assert str(caught.value).endswith(".")


@pytest.mark.parametrize(
    "core",
    ["ada@gmail.com", "a.d.a@gmail.com", "ada+x@gmail.com", "A.da+x+y@GoogleMail.com", "ada.@gmail.com"],
)
def test_the_spellings_of_one_mailbox_count_together(core: str) -> None:
    assert counted_as(core) == "ada@gmail.com"


def test_different_people_count_apart() -> None:
    assert (
        len(
            {counted_as(core) for core in ("ada@a.example", "ada@b.example", "bob@a.example", "+x@a.example")}
        )
        == 4
    )


def test_the_tutorials_form_is_understood() -> None:
    given = [WEEKLY, ("addressPart", "ada@example.org"), ("displayNamePart", "Ada")]
    assert read_sign_up(given) == UpstreamSignUp("weekly", "email", "ada@example.org", "Ada")


def test_the_friendlier_names_mean_the_same() -> None:
    given = [WEEKLY, ("address", "ada@example.org"), ("displayName", "Ada")]
    assert read_sign_up(given) == UpstreamSignUp("weekly", "email", "ada@example.org", "Ada")


def test_values_are_trimmed_and_blank_ones_do_not_count() -> None:
    given = [WEEKLY, ("addressPart", " a@example.org\n"), ("displayNamePart", "  "), ("number", "")]
    assert read_sign_up(given) == UpstreamSignUp("weekly", "email", "a@example.org")


@pytest.mark.parametrize("field", ["destinationType", "type"])
@pytest.mark.parametrize("value", ["Email", "EMAIL", "Sms", "Mastodon", "BlueSky"])
def test_the_type_is_read_in_any_case(field: str, value: str) -> None:
    assert read_sign_up([WEEKLY, (field, value)]).type == value.lower()


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ([("name", "ada"), ("instanceUrl", "https://social.example/")], "mastodon"),
        ([("number", "+12125550100")], "sms"),
        ([("identifier", "ada.example")], "email"),
        ([], "email"),
    ],
)
def test_without_a_type_it_is_guessed(fields: list[tuple[str, str]], kind: str) -> None:
    assert read_sign_up([WEEKLY, *fields]).type == kind


@pytest.mark.parametrize(
    "fields",
    [
        [],
        [("subscribableName", " ")],
        [WEEKLY, ("subscribableName", "daily")],
        [WEEKLY, ("addressPart", "a@example.org"), ("addressPart", "b@example.org")],
        [WEEKLY, ("addressPart", "a@example.org"), ("number", "1")],
        [WEEKLY, ("type", "pigeon")],
    ],
)
def test_what_contradicts_itself_is_refused(fields: list[tuple[str, str]]) -> None:
    with pytest.raises(WrongFields):
        read_sign_up(fields)


def test_the_same_said_twice_is_said_once() -> None:
    assert read_sign_up([WEEKLY, WEEKLY]).newsletter == "weekly"
