"""`add_account`, `list_accounts`, `drop_account`, and choosing one for a newsletter.

`dkim_key`: the key of a domain and its record.
`list_lanes` and `alter_lane`.
"""

from datetime import date
from io import StringIO
from pathlib import Path

import pytest

from channels.email.dkim.keys import generate, to_pem
from delivery.accounts.accounts import add_account, url_of
from delivery.lanes.lanes import mail_lane
from delivery.models import Account, Delivery, DkimKey, Lane, LaneDomain
from subscriptions.models import Subscribable
from tests.console import json_of, printed, refused
from tests.delivery.ledger import a_lane, queued
from tests.factories import FeedFactory

ED25519 = ("--algorithm", "ed25519")
pytestmark = pytest.mark.django_db
URL = "smtps://ada:s3cret@mail.example.org"


@pytest.fixture
def url_file(tmp_path: Path) -> str:
    file = tmp_path / "url"
    file.write_text(f"{URL}\n")
    return str(file)


def test_an_account_is_added_from_a_file_and_never_shows_its_password(url_file: str) -> None:
    made = json_of("add_account", "second", "--url-file", url_file)
    assert (made["name"], made["server"], made["newsletters"]) == (
        "second",
        "mail.example.org:465, encrypted",
        [],
    )
    assert json_of("list_accounts") == [made]
    assert "s3cret" not in printed("list_accounts")
    assert "s3cret" not in str(Account.objects.values().get())
    assert url_of(mail_lane("second")) == URL


def test_the_url_is_read_from_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", StringIO(f"{URL}\n"))
    assert json_of("add_account", "second")["name"] == "second"


def test_another_password_lets_the_lane_go_on_at_once(url_file: str) -> None:
    account = add_account(name="second", url="smtp://old.example.org")
    Lane.objects.update(failures=3, last_error="535 no", free_at="2099-01-01T00:00Z")
    assert "already exists" in refused("add_account", "second", "--url-file", url_file)
    changed = json_of("add_account", "second", "--url-file", url_file, "--replace")
    assert changed["server"].startswith("mail.example.org")
    lane = Lane.objects.get()
    assert (lane.failures, lane.last_error, lane.free_at) == (0, "", None)
    assert Account.objects.get() == account


@pytest.mark.parametrize("name", ["default", "Second", "a b", "", "x" * 65])
def test_names_are_plain_and_default_is_taken(name: str, url_file: str) -> None:
    assert refused("add_account", name, "--url-file", url_file).startswith("NAME: ")


@pytest.mark.parametrize(
    "url", ["", "mailbox:", "s3cret", "smtps://ada:s3cret@h:port", "http://ada:s3cret@h"]
)
def test_a_wrong_url_is_refused_without_showing_it(url: str, tmp_path: Path) -> None:
    file = tmp_path / "url"
    file.write_text(url)
    said = refused("add_account", "second", "--url-file", str(file))
    assert said.startswith("--url-file: ")
    assert "s3cret" not in said
    assert not Account.objects.exists()


def test_a_file_that_is_not_there_is_named() -> None:
    assert "cannot be read" in refused("add_account", "second", "--url-file", "/nowhere/at/all")


def define(*words: str) -> Subscribable:
    printed("define_subscribable", "letter", "--feed", str(FeedFactory().pk), *words)
    return Subscribable.objects.get()


def test_a_newsletter_chooses_an_account_when_defined_and_later() -> None:
    add_account(name="second", url=URL)
    letter = define("--option", "account=second")
    assert letter.options == {"account": "second"}
    printed("alter_subscribable", "letter", "--option", "account=")
    letter.refresh_from_db()
    assert letter.options == {}
    printed("alter_subscribable", "letter", "--option", "account=second")
    letter.refresh_from_db()
    assert letter.options == {"account": "second"}
    assert "no email account “third”. There are: second." in refused(
        "alter_subscribable", "letter", "--option", "account=third"
    )


def test_an_account_in_use_is_not_dropped() -> None:
    add_account(name="second", url=URL)
    define("--option", "account=second", "--title", "The Letter")
    assert "second is used by The Letter" in refused("drop_account", "second")
    printed("alter_subscribable", "letter", "--option", "account=")
    queued(2, lane=Lane.objects.get(account="second"))
    assert "2 deliveries are waiting to be sent through second" in refused("drop_account", "second")


def test_an_account_that_nothing_uses_is_dropped_with_its_lane() -> None:
    add_account(name="second", url=URL)
    assert printed("drop_account", "second") == "The mail account second was deleted.\n"
    assert not Account.objects.exists()
    assert not Lane.objects.exists()
    assert refused("drop_account", "second").startswith("There is no mail account second.")


def test_the_lane_stays_where_deliveries_tell_of_it() -> None:
    add_account(name="second", url=URL)
    queued(1, lane=Lane.objects.get(account="second"), state="sent")
    printed("drop_account", "second")
    assert Lane.objects.filter(account="second").exists()


def test_it_makes_a_key_once_and_shows_it_ever_after() -> None:
    made = json_of("dkim_key", "example.org")
    keys = ["domain", "selector", "algorithm", "state", "created_at", "name", "type", "value", "strings"]
    assert list(made) == keys
    assert (made["algorithm"], made["state"], made["type"]) == ("rsa", "active", "TXT")
    assert made["name"] == "feedletter._domainkey.example.org"
    assert "".join(made["strings"]) == made["value"]
    assert json_of("dkim_key", "Example.ORG.") == made == json_of("dkim_key", "example.org", "--show")
    assert json_of("dkim_key", "example.org", "--selector", "feedletter") == made


def test_people_get_the_record_in_two_forms_and_never_the_private_key() -> None:
    shown = printed("dkim_key", "example.org")
    key = DkimKey.objects.get()
    assert f"Name   {key.record.name}\nType   TXT\nValue  {key.record.value}\n" in shown
    assert key.record.zone_line in shown
    assert "PRIVATE" not in shown


def test_each_algorithm_has_a_key_of_its_own() -> None:
    assert json_of("dkim_key", "example.org")["algorithm"] == "rsa"
    assert json_of("dkim_key", "example.org", *ED25519)["selector"] == "feedletter-ed25519"
    assert json_of("dkim_key", "example.org")["algorithm"] == "rsa"


def test_a_new_key_waits_until_it_is_activated() -> None:
    printed("dkim_key", "example.org", *ED25519)
    assert "waits" in printed("dkim_key", "example.org", *ED25519, "--new", "--selector", "second")
    assert json_of("dkim_key", "example.org", "--selector", "second", "--activate")["state"] == "active"
    first = json_of("dkim_key", "example.org", "--selector", "feedletter-ed25519", "--show")
    assert first["state"] == "retired"
    assert "is retired" in printed("dkim_key", "example.org", "--selector", "second", "--retire")
    assert json_of("dkim_key", "example.org", *ED25519)["selector"] == "feedletter-ed25519-2"


def test_a_key_is_imported_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "key.pem"
    file.write_text(to_pem(generate("ed25519")))
    made = json_of("dkim_key", "example.org", "--selector", "mail", "--import", str(file))
    assert (made["selector"], made["algorithm"]) == ("mail", "ed25519")
    file.write_text("nothing")
    assert refused("dkim_key", "example.org", "--import", str(file)).startswith(
        "--import: This isn’t a private key"
    )
    file.write_text("")
    assert refused("dkim_key", "example.org", "--import", str(file)) == "--import: the file is empty."
    assert "cannot be read" in refused("dkim_key", "example.org", "--import", str(tmp_path / "none"))


def test_mistakes_are_said_in_a_sentence() -> None:
    assert "no such key of example.org" in refused("dkim_key", "example.org", "--show")
    assert refused("dkim_key", "no domain").startswith("DOMAIN: “no domain” isn’t a domain")
    assert refused("dkim_key", "example.org", "--activate") == "--selector: say which key."
    assert "no such key" in refused("dkim_key", "example.org", "--selector", "x", "--retire")
    printed("dkim_key", "example.org", *ED25519, "--selector", "x")
    assert "has a key with the selector x" in refused(
        "dkim_key", "example.org", "--selector", "x", "--new", *ED25519
    )
    assert "has a key with the selector x" in refused(
        "dkim_key", "example.org", "--selector", "x", "--algorithm", "rsa"
    )


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
def test_mistakes_with_lanes_are_said_in_a_sentence(words: tuple[str, ...], said: str) -> None:
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
