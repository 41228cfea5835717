"""Operators' commands: each prints a table and JSON, and one sentence on errors."""

import re
import zlib
from pathlib import Path

import pytest
from pytest_django import Settings

from delivery.models import Webhook
from feedletter_site import env
from feedletter_site.env import declared
from feedletter_site.management.commands.show_settings import shown, typed
from feeds.models import Feed, Item
from subscriptions.models import Consent, Subscription, Suppression
from tests.console import json_of, printed, refused
from tests.examples import NIGHTLY
from tests.factories import (
    NOW,
    BounceFactory,
    FeedDocumentFactory,
    FeedFactory,
    ItemFactory,
    LeftFactory,
    SubscribableFactory,
    SuppressionFactory,
    UnconfirmedFactory,
)
from tests.load.installation import postgres_installation, sqlite_installation
from tests.servers.documents import rss

pytestmark = pytest.mark.django_db


def an_excluded_post() -> Item:
    feed = FeedFactory()
    posts = [{"guid": "one", "title": "One", "link": "https://blog.example/one", "content": "Words."}]
    FeedDocumentFactory(feed=feed, body=zlib.compress(rss(posts)), headers={"content-type": "text/xml"})
    item: Item = ItemFactory(feed=feed, guid="one", state="excluded", reason="a repost")
    return item


def test_an_excluded_post_is_sent_after_all() -> None:
    item = an_excluded_post()
    (row,) = json_of("include_item", str(item.pk))
    assert (row["id"], row["state"]) == (item.pk, "unassigned")
    assert "will be sent" in row["said"]
    assert "is not excluded" in printed("include_item", str(item.pk))
    assert refused("include_item", "999") == "There is no post 999. “list_items” lists them."


@pytest.mark.parametrize(("word", "state"), [("--send", "unassigned"), ("--exclude", "excluded")])
def test_a_flood_is_decided(word: str, state: str) -> None:
    feed = FeedFactory(held_since=NOW)
    ItemFactory.create_batch(3, feed=feed, held_at=NOW)
    assert json_of("decide_feed", str(feed.pk), word)["posts"] == 3
    assert set(Item.objects.values_list("state", "held_at")) == {(state, None)}
    assert not Feed.objects.filter(held_since__isnull=False).exists()
    assert "0 posts of" in printed("decide_feed", str(feed.pk), word)
    assert "--send" in refused("decide_feed", str(feed.pk))


def test_who_waits_is_confirmed_by_hand_and_the_proof_says_so() -> None:
    row = UnconfirmedFactory(asked_name="Ada")
    name, address = row.subscribable.name, row.destination.core
    assert json_of("confirm_subscription", name, "--email", address)["confirmed"] is True
    row.refresh_from_db()
    assert (row.status, row.display_name) == (Subscription.Status.CONFIRMED, "Ada")
    assert Consent.objects.get(subscription=row).how == "admin"
    printed("confirm_subscription", name, "--email", address)
    assert Consent.objects.count() == 1


def test_nobody_is_confirmed_who_left_or_must_not_be_written_to() -> None:
    left = LeftFactory()
    said = refused("confirm_subscription", left.subscribable.name, "--id", str(left.pk))
    assert "has left" in said
    row = UnconfirmedFactory()
    SuppressionFactory(core=row.destination.core)
    assert "must not be written to" in refused(
        "confirm_subscription", row.subscribable.name, "--id", str(row.pk)
    )


def test_a_suppression_is_listed_and_lifted() -> None:
    SuppressionFactory(core="ada@example.org", reason="bounced")
    assert [row["address"] for row in json_of("list_suppressions")] == ["ada@example.org"]
    assert json_of("lift_suppression", "Ada@Example.ORG")["suppressed"] is False
    assert not Suppression.objects.exists()
    assert "is not on the list" in refused("lift_suppression", "ada@example.org")


def test_bounces_are_listed_with_the_servers_words() -> None:
    BounceFactory()
    BounceFactory(held=True, kind="soft")
    rows = json_of("list_bounces")
    assert [row["diagnostic"] for row in rows] == ["550 5.1.1 No such user"] * 2
    assert [row["kind"] for row in json_of("list_bounces", "--held")] == ["soft"]
    assert "hard" in printed("list_bounces", "--kind", "hard")


def test_a_webhook_is_added_listed_and_dropped() -> None:
    newsletter = SubscribableFactory(name="news")
    words = ["add_webhook", "shop", "--url", "https://shop.example/hook", "--event", "issue.published"]
    made = json_of(*words, "--newsletter", "news")
    assert made["secret"].startswith("whsec_")
    (row,) = json_of("list_webhooks")
    assert (row["name"], row["events"], row["newsletters"]) == (
        "shop",
        ["issue.published"],
        [newsletter.name],
    )
    assert "secret" not in row
    assert "address" in refused("add_webhook", "x", "--url", "shop", "--event", "issue.published")
    printed("drop_webhook", str(made["id"]))
    assert not Webhook.objects.exists()
    assert "There is no webhook" in refused("drop_webhook", str(made["id"]))


def test_settings_are_shown_and_secrets_are_not(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    # As the process began: other tests read settings from files.
    monkeypatch.setitem(env.read, "SECRET_KEY", (settings.SECRET_KEY, "environment"))
    rows = {row["name"]: row for row in json_of("show_settings")}
    assert {"SITE_URL", "DATABASE_URL", "EMAIL_URL", "SECRET_KEY"} <= rows.keys()
    assert settings.SECRET_KEY not in printed("show_settings")
    assert rows["SECRET_KEY"]["from"] == "environment"


def test_a_default_is_shown_as_the_reference_has_it() -> None:
    rows = {row["name"]: row for row in json_of("show_settings") if row["from"] == "default"}
    documented = {
        name: setting.default[1:-1]
        for section in declared.values()
        for name, setting in section.items()
        # The tests have another gap.
        if re.fullmatch("`[^`]*`", setting.default) and name in rows and name != "POLL_HOST_GAP"
    }
    assert {name: rows[name]["value"] for name in documented} == documented


@pytest.mark.parametrize(
    ("name", "text", "seen"),
    [
        ("DATABASE_URL", "postgres://u:hunter2@db/name?sslmode=require", "postgres://…@db/name"),
        ("DATABASE_URL", "postgres://u:hunter2@a:1,b:2/name", "postgres://…@a:1,b:2/name"),
        ("EMAIL_URL", "anymail+mailgun://hunter2@example.org", "anymail+mailgun://…@example.org"),
        ("EMAIL_URL", "mailbox:", "mailbox:"),
        ("BOUNCE_URL", "imaps://u:hunter2@mail.example.org/INBOX", "imaps://…@mail.example.org/INBOX"),
        ("CELERY_BROKER_URL", "redis://:hunter2@redis:6379/0", "redis://…@redis:6379/0"),
        ("DISCORD_API_URL", "https://u:hunter2@proxy/api", "https://…@proxy/api"),
        ("METRICS_TOKEN", "hunter2", "(set)"),
        ("DISCORD_BOT_TOKEN", "hunter2", "(set)"),
        ("A_LATER_SERVICE_PASSWORD", "hunter2", "(set)"),
        ("UPSTREAM_SALT", "", ""),
        ("A_LATER_PATH", "sqlite:////srv/feedletter.db", "sqlite:////srv/feedletter.db"),
    ],
)
def test_of_a_secret_only_its_being_there_is_seen(name: str, text: str, seen: str) -> None:
    assert shown(name, text) == seen


@pytest.mark.parametrize(
    ("value", "seen"),
    [
        (("127.0.0.1", 8000), "127.0.0.1:8000"),
        (("[::]", 8000), "[::]:8000"),
        ([("::1", 53)], "[::1]:53"),
        (["a", "b", "a"], "a,b"),
        (True, "1"),
    ],
)
def test_a_setting_is_shown_as_one_types_it(value: object, seen: str) -> None:
    assert typed(value) == seen


@pytest.mark.parametrize("word", ["backup", "restore"])
def test_a_copy_is_refused_in_a_sentence_where_it_cannot_be(
    word: str, tmp_path: Path, settings: Settings
) -> None:
    settings.DATA_DIR = tmp_path
    there = tmp_path / "copy"
    there.write_text("something else")
    said = refused(word, str(there), *(["--yes"] if word == "restore" else []))
    assert str(there) in said
    if word == "restore":
        assert "add --yes" in refused("restore", str(there))
        assert "cannot be read" in refused("restore", str(tmp_path / "nothing"), "--yes")


@pytest.mark.slow
@pytest.mark.parametrize(
    "database", ["sqlite", pytest.param("postgresql", marks=[pytest.mark.postgres, NIGHTLY])]
)
def test_a_backup_made_by_the_command_is_put_back_by_the_command(
    database: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if database == "sqlite":
        made = sqlite_installation(tmp_path, EMAIL_URL="mailbox:")
    else:
        made = postgres_installation(tmp_path, request.getfixturevalue("postgres_url"), EMAIL_URL="mailbox:")
    copy = tmp_path / "copy"
    with made as site:
        # For every documented form of DATABASE_URL.
        if database == "postgresql":
            site.environment["DATABASE_URL"] += "?prepare=off&connect_timeout=4&sslmode=prefer"
        site.script("from tests.factories import FeedFactory; FeedFactory(title='Kept')")
        site.manage("backup", str(copy))
        assert copy.stat().st_mode & 0o077 == 0
        site.script("from feeds.models import Feed; Feed.objects.all().delete()")
        said = site.manage("restore", str(copy), "--yes")
        assert "Everything unsent is held" in said
        titles = "from feeds.models import Feed; print(*Feed.objects.values_list('title', flat=True))"
        assert site.script(titles).strip() == "Kept"
