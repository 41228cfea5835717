"""Commands for bridges: listing, defining with a destination, checking, testing."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from common.ports import channels
from subscriptions.models import Destination, Subscribable
from tests.delivery.bridges.making import a_bridge, fields
from tests.delivery.own_letters import a_read_feed
from tests.factories import SubscribableFactory
from tests.servers.mastodon_instance import TOKEN, MastodonInstance, Reply

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("loopback_allowed")]


@pytest.fixture
def instance() -> Iterator[MastodonInstance]:
    with MastodonInstance() as server:
        yield server


def said(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    call_command(*words, "--json")
    return json.loads(capsys.readouterr().out)


def to(instance: MastodonInstance, **other: str) -> list[str]:
    given = fields(instance, **other)
    return [f"--{name.replace('_', '-')}={value}" for name, value in given.items()]


def test_all_channels_are_listed_with_what_they_ask_for(capsys: pytest.CaptureFixture[str]) -> None:
    rows = {row["channel"]: row for row in said(capsys, "list_channels")}
    assert rows.keys() == {kind.key for kind in channels.all_kinds()}
    assert rows["mastodon"]["destination"] == ["account", "instance_url", "access_token"]
    assert rows["email"]["sign_up"]


def test_a_bridge_is_defined_with_where_it_posts(
    instance: MastodonInstance, capsys: pytest.CaptureFixture[str]
) -> None:
    feed = a_read_feed()
    words = ["define_subscribable", "bees", f"--feed={feed.pk}", "--channel=mastodon", *to(instance)]
    assert said(capsys, *words)["subscribers"] == 1
    assert Destination.objects.get().secrets.open() == {"access_token": TOKEN}
    assert not Subscribable.objects.get().stopped


def test_a_destination_that_is_refused_leaves_no_bridge(instance: MastodonInstance) -> None:
    feed = a_read_feed()
    refused = to(instance, access_token="wr0ng")
    with pytest.raises(CommandError, match=r"access_token: .* doesn’t accept it"):
        call_command("define_subscribable", "bees", f"--feed={feed.pk}", "--channel=mastodon", *refused)
    with pytest.raises(CommandError, match="Email does not use --account"):
        call_command("define_subscribable", "bees", f"--feed={feed.pk}", "--account=bot")
    with pytest.raises(CommandError, match="Mastodon needs --instance-url, --access-token"):
        call_command(
            "define_subscribable", "bees", f"--feed={feed.pk}", "--channel=mastodon", "--account=bot"
        )
    assert not Subscribable.objects.exists()


def test_a_destination_is_asked_before_it_is_kept(
    instance: MastodonInstance, capsys: pytest.CaptureFixture[str]
) -> None:
    row = said(capsys, "check_destination", "--channel=mastodon", *to(instance))
    assert row["good"]
    assert row["destination"].startswith("bot at ")
    with pytest.raises(CommandError, match="access_token"):
        call_command("check_destination", "--channel=mastodon", *to(instance, access_token="wr0ng"))
    assert not Destination.objects.exists()


def test_those_of_a_bridge_are_asked_with_what_is_kept(
    instance: MastodonInstance, capsys: pytest.CaptureFixture[str]
) -> None:
    a_bridge(instance)
    assert [row["good"] for row in said(capsys, "check_destination", "bees")] == [True]
    instance.paths["/api/v1/accounts/verify_credentials"] = Reply(401, {"error": "revoked"})
    [row] = said(capsys, "check_destination", "bees")
    assert not row["good"]
    assert row["why"].startswith("access_token: ")
    with pytest.raises(CommandError, match="either the NAME"):
        call_command("check_destination")


def test_a_test_is_posted_and_taken_back(
    instance: MastodonInstance, capsys: pytest.CaptureFixture[str]
) -> None:
    made = a_bridge(instance)
    [row] = said(capsys, "post_test", "bees")
    assert row["url"] == instance.statuses[0]["url"]
    [gone] = said(capsys, "post_test", "bees", "--delete", f"--to={made.destination.label}")
    assert gone["id"] == row["id"]
    assert instance.statuses == []
    assert said(capsys, "post_test", "bees", "--delete") == []


def test_a_test_that_is_refused_is_said_in_a_sentence(instance: MastodonInstance) -> None:
    a_bridge(instance)
    instance.says = Reply(422, {"error": "no bees"})
    with pytest.raises(CommandError, match=r"Not posted to bot at .*no bees"):
        call_command("post_test", "bees")
    with pytest.raises(CommandError, match="does not post there"):
        call_command("post_test", "bees", "--to=elsewhere")
    SubscribableFactory(name="letters")
    with pytest.raises(CommandError, match="is no bridge"):
        call_command("post_test", "letters")


def test_helps_name_the_channels_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("define_subscribable", "check_destination"):
        with pytest.raises(SystemExit):
            call_command(command, "--help")
        text = capsys.readouterr().out
        for kind in channels.bridge_kinds():
            assert kind.key in text
