import codecs
from io import StringIO
from pathlib import Path

import pytest
from django.core import mail

from common.ports import channels
from subscriptions.management.options import destination
from subscriptions.models import Destination, ListImport, Notice, Subscription
from tests.console import command_named, json_of, printed, refused
from tests.factories import (
    BridgeFactory,
    DeliveryFactory,
    DestinationFactory,
    SubscribableFactory,
    SubscriptionFactory,
    SuppressionFactory,
    UnconfirmedFactory,
)

pytestmark = pytest.mark.django_db


def test_a_list_that_may_name_blocked_people_is_taken_once_its_columns_are_explained(tmp_path: Path) -> None:
    name, file = SubscribableFactory().name, tmp_path / "list.csv"
    file.write_text("email,opt out\na@example.org,1\nb@example.org,0\n")
    said = refused("import_subscribers", name, str(file))
    assert said.endswith("For example: --columns 'opt out=unsubscribed'")
    assert "HEADING=MEANING" in refused("import_subscribers", name, str(file), "--column", "opt out")
    assert "no column “x”" in refused("import_subscribers", name, str(file), "--column", "x=ignore")
    printed(
        "import_subscribers", name, str(file), "--column", "opt out=unsubscribed", "--status", "confirmed"
    )
    found = dict(Subscription.objects.values_list("destination__core", "status"))
    assert found == {"a@example.org": "unsubscribed", "b@example.org": "confirmed"}


def test_subscribe_confirms_by_the_admins_word() -> None:
    row = json_of("subscribe", SubscribableFactory().name, "--email", "Ada L <Ada@example.org>")
    made = Subscription.objects.get()
    assert row == {"id": made.pk, "destination": "Ada@example.org", "confirmed": True}
    assert made.display_name == "Ada L"
    assert not Notice.objects.exists()


def test_subscribe_unconfirmed_sends_the_confirmation() -> None:
    row = json_of("subscribe", SubscribableFactory().name, "--email", "ada@example.org", "--unconfirmed")
    assert row["confirmed"] is False
    assert Notice.objects.get().kind == "confirmation"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--email", "nonsense"), "“nonsense” isn’t an email address"),
        ((), "Email needs --email."),
        (("--email", "a@example.org", "--account", "bot"), "Email does not use --account."),
        (("--email", "bad@example.org"), "must not be written to"),
    ],
)
def test_subscribe_refuses(words: tuple[str, ...], said: str) -> None:
    SuppressionFactory(core="bad@example.org")
    assert said in refused("subscribe", SubscribableFactory().name, *words)
    assert not Subscription.objects.exists()


def test_a_bridge_wants_its_own_options() -> None:
    said = refused("subscribe", BridgeFactory().name, "--account", "bot")
    assert said == "Mastodon needs --instance-url, --access-token."


@pytest.mark.parametrize("command", ["subscribe", "define_subscribable", "check_destination"])
def test_the_help_of_an_option_has_each_services_own_words(command: str) -> None:
    helps = {
        option: action.help or ""
        for action in command_named(command).create_parser("manage.py", command)._actions
        for option in action.option_strings
    }
    for kind in channels.bridge_kinds():
        for field in kind.destination_fields:
            text = helps[f"--{field.name.replace('_', '-')}"].replace("%%", "%")
            _, _, words = text.partition(kind.label)
            assert (field.help or field.label).rstrip(".") in words
            assert text.endswith("“-” asks for it.") == field.secret


def test_unsubscribe_by_address_and_by_number() -> None:
    one = SubscriptionFactory(destination=DestinationFactory(core="ada@example.org", label="ada@example.org"))
    two = SubscriptionFactory(subscribable=one.subscribable)
    row = json_of("unsubscribe", one.subscribable.name, "--email", "Ada <ADA@example.org>")
    assert row == {"id": one.pk, "destination": "ada@example.org", "confirmed": False}
    printed("unsubscribe", one.subscribable.name, "--id", str(two.pk))
    assert set(Subscription.objects.values_list("status", flat=True)) == {"unsubscribed"}


def test_unsubscribe_finds_an_account_without_its_token() -> None:
    destination = DestinationFactory(kind="mastodon", core="bot@social.example", label="bot")
    bridge = SubscriptionFactory(subscribable=BridgeFactory(), destination=destination)
    words = ("--account", "bot", "--instance-url", "https://social.example")
    assert json_of("unsubscribe", bridge.subscribable.name, *words)["id"] == bridge.pk


def test_unsubscribe_names_who_is_not_there() -> None:
    other = SubscriptionFactory()
    name = SubscribableFactory().name
    assert "no subscriber x@example.org" in refused("unsubscribe", name, "--email", "x@example.org")
    assert f"no subscriber number {other.pk}" in refused("unsubscribe", name, "--id", str(other.pk))


def test_list_subscribers_tells_everyone_and_their_status() -> None:
    one = SubscriptionFactory(display_name="Ada")
    two = UnconfirmedFactory(subscribable=one.subscribable)
    three = SubscriptionFactory(subscribable=one.subscribable)
    SuppressionFactory(core=three.destination.core)
    rows = json_of("list_subscribers", one.subscribable.name)
    assert rows[0] == {
        "id": one.pk,
        "destination": one.destination.label,
        "name": "Ada",
        "status": "confirmed",
        "confirmed": True,
        "added": one.added_at.isoformat(),
    }
    assert [row["status"] for row in rows] == ["confirmed", "unconfirmed", "suppressed"]
    after = json_of("list_subscribers", one.subscribable.name, "--after", str(one.pk), "--limit", "1")
    assert [row["id"] for row in after] == [two.pk]


def test_a_list_goes_out_and_comes_in(tmp_path: Path) -> None:
    one = SubscriptionFactory(display_name="Ada")
    file = tmp_path / "list.csv"
    printed("export_subscribers", one.subscribable.name, "--output", str(file))
    printed_list = printed("export_subscribers", one.subscribable.name)
    assert printed_list.startswith("email,name,status,language,added,confirmed,left,consent_at,")
    # Excel needs a byte order mark.
    assert file.read_bytes() == codecs.BOM_UTF8 + printed_list.encode()
    assert json_of("export_subscribers", one.subscribable.name)[0]["name"] == "Ada"
    fresh = SubscribableFactory().name
    facts = {"added": 1, "updated": 0, "unchanged": 0, "refused": [], "refused_count": 0, "not_used": []}
    facts["lost_dates"] = 0
    tried, taken = (json_of("import_subscribers", fresh, str(file), *more) for more in (["--dry-run"], []))
    outcomes = tried.pop("outcomes")
    assert {kind: count for kind, count in outcomes.items() if count} == {"gets": 1}
    assert tried == {**facts, "repeated": 0}
    assert taken == {**facts, "outcomes": outcomes, "import": ListImport.objects.get().pk}
    assert mail.outbox == []


def test_refused_lines_are_told_with_number_and_reason(tmp_path: Path) -> None:
    file = tmp_path / "list.csv"
    file.write_text("email,status\nnonsense,\na@example.org,maybe\nb@example.org,\n", encoding="utf-8")
    name = SubscribableFactory().name
    asked = refused("import_subscribers", name, str(file))
    assert asked.startswith(
        "2 of 3 would be refused. Nothing was changed. If this is right, add --yes. Line 2:"
    )
    assert not Subscription.objects.exists()
    said = printed("import_subscribers", name, str(file), "--yes").splitlines()
    assert said[0] == "1 added, 0 updated, 0 unchanged, 2 refused. No email was sent."
    assert said[1] == "0 get the newsletter · 1 not confirmed · 2 unreadable."
    assert said[2].startswith("Line 2: “nonsense” isn’t an email address")
    assert said[3].startswith("Line 3: “maybe” isn’t a status")


def test_a_file_in_an_old_encoding_is_read_and_named(tmp_path: Path) -> None:
    file = tmp_path / "list.csv"
    file.write_bytes("email,name\na@example.org,Jürgen\nb@example.org,“Zoë”\n".encode("windows-1252"))
    asked = refused("import_subscribers", name := SubscribableFactory().name, str(file))
    assert asked.startswith("2 lines are not UTF-8. In which encoding are the names right? windows-1250: ")
    assert "windows-1253: Jόrgen" in asked
    assert not Subscription.objects.exists()
    printed("import_subscribers", name, str(file), "--encoding", "windows-1252")
    assert set(Subscription.objects.values_list("display_name", flat=True)) == {"Jürgen", "“Zoë”"}


def test_refused_lines_go_into_a_file_to_be_mended_and_imported(tmp_path: Path) -> None:
    file, bad = tmp_path / "list.csv", tmp_path / "refused.csv"
    file.write_text("email,name,status\na@example.org,A,\nnonsense,=B,maybe\n", encoding="utf-8")
    name = SubscribableFactory().name
    printed("import_subscribers", name, str(file), "--refused", str(bad), "--status", "confirmed")
    lines = bad.read_text(encoding="utf-8").splitlines()
    assert lines[0] == "line,reason,email,name,status"
    assert lines[1].startswith("3,")
    assert lines[1].endswith(",nonsense,'=B,maybe")
    bad.write_text(
        bad.read_text(encoding="utf-8").replace("nonsense", "b@example.org").replace("maybe", ""),
        encoding="utf-8",
    )
    said = printed("import_subscribers", name, str(bad), "--consent", "By hand.")
    assert said.startswith("1 added, 0 updated, 0 unchanged, 0 refused.")
    made = Subscription.objects.get(destination__core="b@example.org")
    assert (made.display_name, made.status, made.consents.get().words) == ("=B", "unconfirmed", "By hand.")
    assert Subscription.objects.get(destination__core="a@example.org").status == "confirmed"


def test_an_import_can_be_undone_within_a_week(tmp_path: Path) -> None:
    there = SubscriptionFactory()
    file = tmp_path / "list.csv"
    file.write_text(f"email\n{there.destination.core}\nb@example.org\n", encoding="utf-8")
    printed_text = printed(
        "import_subscribers", there.subscribable.name, str(file), "--status", "unsubscribed"
    )
    number = ListImport.objects.get().pk
    assert printed_text.splitlines()[-1] == f"“undo_import {number}” undoes this within 7 days."
    assert printed("undo_import", str(number)) == "1 subscriber removed, 1 as they were before.\n"
    assert list(Subscription.objects.values_list("pk", "status")) == [(there.pk, "confirmed")]
    assert "can’t be undone" in refused("undo_import", str(number))
    assert "no import 99" in refused("undo_import", "99")


def test_a_dry_run_says_so_and_changes_nothing(tmp_path: Path) -> None:
    file = tmp_path / "list.csv"
    file.write_text("email\na@example.org\nA@example.org\n", encoding="utf-8")
    said = printed("import_subscribers", SubscribableFactory().name, str(file), "--dry-run")
    assert said.splitlines() == [
        "1 would be added, 0 updated, 0 unchanged, 0 refused. 1 are in the file before. Nothing was changed.",
        "0 will get the newsletter · 1 not confirmed · 1 duplicate.",
    ]
    assert not Subscription.objects.exists()


def test_a_file_that_is_not_there_is_named() -> None:
    said = refused("import_subscribers", SubscribableFactory().name, "/nowhere/list.csv")
    assert said == "/nowhere/list.csv cannot be read: No such file or directory."


def test_a_secret_may_be_piped_in_instead_of_standing_in_the_list_of_processes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sys.stdin", StringIO("hush\n"))
    options = {"account": "bot", "instance_url": "https://social.example", "access_token": "-"}
    assert destination(options, channels.get("mastodon"))["access_token"] == "hush"


def test_it_erases_and_says_how_much() -> None:
    one = SubscriptionFactory(destination__core="ada@example.org")
    DeliveryFactory.create_batch(2, subscription=one, state="sent")
    row = json_of("erase_destination", "Ada <ADA@example.org>")
    assert (row["address"], row["suppressed"]) == ("ada@example.org", False)
    assert (row["erased"]["subscriptions"], row["erased"]["mails"]) == (1, 2)
    assert not Subscription.objects.exists()
    assert not Destination.objects.filter(core="ada@example.org").exists()


def test_it_says_what_stays() -> None:
    SubscriptionFactory(destination__core="ada@example.org")
    SuppressionFactory(core="ada@example.org")
    said = printed("erase_destination", "ada@example.org")
    assert "is erased: 1 subscription, 0 emails." in said
    assert "stays on the “Do not email” list" in said


@pytest.mark.parametrize(
    ("address", "said"),
    [("eve@example.org", "Nothing is stored about"), ("nonsense", "isn’t an email address")],
)
def test_it_refuses(address: str, said: str) -> None:
    assert said in refused("erase_destination", address)
