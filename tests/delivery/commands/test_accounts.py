"""`add_account`, `list_accounts`, `drop_account`, and choosing one for a newsletter."""

from io import StringIO
from pathlib import Path

import pytest

from delivery.accounts.accounts import add_account, url_of
from delivery.lanes.lanes import mail_lane
from delivery.models import Account, Lane
from subscriptions.models import Subscribable
from tests.console import json_of, printed, refused
from tests.delivery.ledger import queued
from tests.factories import FeedFactory

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
