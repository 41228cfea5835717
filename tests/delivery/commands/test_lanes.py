"""`list_lanes` and `alter_lane`."""

from datetime import date
from pathlib import Path

import pytest

from delivery.models import Delivery, Lane, LaneDomain
from tests.console import json_of, printed, refused
from tests.delivery.ledger import a_lane, queued

pytestmark = pytest.mark.django_db


def test_a_lane_gets_limits_and_shows_them() -> None:
    queued(3)
    limits = (
        "--rate",
        "2.5",
        "--burst",
        "20",
        "--per-hour",
        "500",
        "--per-day",
        "4000",
        "--connections",
        "4",
    )
    changed = json_of("alter_lane", "default", *limits, "--messages-per-connection", "50")
    assert changed["limits"] == ["2.5 a second (20 at once)", "500 an hour", "4,000 in 24 hours"]
    assert (changed["connections"], changed["messages_per_connection"], changed["waiting"]) == (4, 50, 3)
    assert changed["held"] == 0
    assert json_of("list_lanes") == [changed]
    assert "500 an hour" in printed("list_lanes")
    assert json_of("alter_lane", "email:default", "--per-hour", "none")["per_hour"] is None
    lane = Lane.objects.get()
    assert (lane.rate, lane.burst, lane.per_hour, lane.per_day) == (2.5, 20, None, 4000)


def test_the_lane_of_mail_can_be_limited_before_anything_is_sent() -> None:
    assert json_of("list_lanes") == []
    warm_up = ("--warm-up-from", "2026-03-02", "--warm-up-first", "20", "--warm-up-growth", "2")
    assert json_of("alter_lane", "default", *warm_up)["warm_up_from"] == "2026-03-02"
    assert Lane.objects.get().warm_up_from == date(2026, 3, 2)


def test_a_lane_is_paused_with_a_reason_and_resumed() -> None:
    a_lane()
    assert json_of("alter_lane", "default", "--pause", "--reason", "New DNS")["state"] == "paused"
    assert Lane.objects.get().paused_reason == "New DNS"
    assert json_of("alter_lane", "default", "--resume")["state"] == "open"


def test_a_domain_has_limits_of_its_own_is_paused_resumed_and_forgotten() -> None:
    lane = a_lane()
    (row,) = queued(lane=lane, domain="gmail.com", state="held", held_for="domain")
    set_so = json_of(
        "alter_lane", "default", "--domain", "Gmail.com", "--per-hour", "20", "--connections", "2"
    )
    assert (set_so["domain"], set_so["per_hour"], set_so["at_a_time"]) == ("gmail.com", 20, 2)
    paused = json_of("alter_lane", "default", "--domain", "gmail.com", "--pause")
    assert (paused["state"], paused["held"], paused["why"]) == ("paused", 1, "Paused by hand.")
    assert json_of("list_lanes", "default") == [paused]
    assert json_of("list_lanes")[0]["domains"] == ["gmail.com"]
    assert json_of("alter_lane", "default", "--domain", "gmail.com", "--resume")["held"] == 0
    row.refresh_from_db()
    assert row.state == "queued"
    assert json_of("alter_lane", "default", "--domain", "gmail.com", "--forget") == []
    assert not LaneDomain.objects.exists()


def test_a_limit_that_is_widened_lets_what_it_put_off_come_back() -> None:
    lane = a_lane()
    printed("alter_lane", "default", "--domain", "gmail.com", "--per-hour", "20")
    (row,) = queued(lane=lane, domain="gmail.com", due_at="2099-01-01T00:00Z")
    (deferred,) = queued(lane=lane, domain="gmail.com", due_at="2099-01-01T00:00Z", state="deferred")
    printed("alter_lane", "default", "--domain", "gmail.com", "--per-hour", "none")
    due = Delivery.objects.filter(due_at__year__lt=2099)
    assert list(due) == [row]
    assert deferred not in due


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "There is nothing to change"),
        (("--rate", "fast"), "give a number above 0"),
        (("--per-day", "0"), "give a whole number, 1 or more"),
        (("--warm-up-from", "monday"), "give a date such as"),
        (("--warm-up-growth", "1"), "--warm-up-growth: "),
        (("--connections", "101"), "--connections: "),
        (("--per-hour", "9", "--per-day", "5"), "--per-hour: This is more than the limit for 24 hours."),
        (("--reason", "x", "--rate", "1"), "--reason: "),
        (("--forget",), "--forget: give --domain, too."),
        (("--domain", "no domain", "--rate", "1"), "--domain: “no domain” isn’t a domain"),
        (("--domain", "gmail.com", "--messages-per-connection", "5"), "--messages-per-connection: "),
        (("--domain", "gmail.com", "--resume"), "gmail.com has no limits in the lane default"),
    ],
)
def test_mistakes_are_said_in_a_sentence(words: tuple[str, ...], said: str) -> None:
    a_lane()
    assert said in refused("alter_lane", "default", *words)


def test_a_lane_that_there_is_not_is_refused() -> None:
    assert refused("alter_lane", "third", "--rate", "1").startswith("There is no lane third.")
    assert refused("list_lanes", "third").startswith("There is no lane third.")


def test_the_lane_of_a_new_account_is_there_at_once(tmp_path: Path) -> None:
    file = tmp_path / "url"
    file.write_text("smtps://ada:s3cret@mail.example.org")
    printed("add_account", "second", "--url-file", str(file))
    assert json_of("alter_lane", "second", "--per-day", "100")["per_day"] == 100
