"""Tags, intervals, switches and credentials on the command line; none of them shows a secret."""

import io
import json
from pathlib import Path

import pytest
from django.core.management import call_command

from feeds.credentials import headers_for
from feeds.models import Feed, Tag
from feeds.tags import tag_feeds
from tests.console import json_of, printed, refused
from tests.factories import FeedFactory, SubscribableFactory
from tests.servers.documents import rss
from tests.servers.feed_server import FeedServer

pytestmark = pytest.mark.django_db


def names(feed: Feed) -> list[str]:
    return [tag.name for tag in feed.tags.all()]


@pytest.mark.usefixtures("loopback_allowed")
def test_add_feed_takes_tags_settings_and_credentials(tmp_path: Path) -> None:
    secret = tmp_path / "password"
    secret.write_text("geheim\n")
    words = "--tag News --tag Tech --title Mine --pace adaptive --ceiling-minutes 240"
    off = ("--no-hold-floods", "--no-use-hub")
    with FeedServer() as server:
        url = server.serve("/feed.xml", rss([{"guid": "1", "title": "A"}]))
        said = printed("add_feed", url, *words.split(), *off, "--user", "ada", "--password-file", str(secret))
        assert server.asked("/feed.xml")[0].headers["authorization"].startswith("Basic ")
    feed = Feed.objects.get()
    assert (names(feed), feed.title, feed.pace, feed.ceiling_minutes) == (
        ["News", "Tech"],
        "Mine",
        "adaptive",
        240,
    )
    assert (feed.hold_floods, feed.join_reposts, feed.use_hub) == (False, True, False)
    assert feed.credentials.open() == {"user": "ada", "password": "geheim"}
    assert "geheim" not in said + printed("list_feeds") + json.dumps(json_of("list_feeds"))


def test_alter_feed_adds_and_takes_tags_and_leaves_the_others() -> None:
    feed = FeedFactory()
    tag_feeds(feeds=[feed.pk], names=["Old", "Kept"])
    said = printed("alter_feed", str(feed.pk), "--tag", "New", "--tag", "kept", "--untag", "OLD")
    assert said == f"Feed {feed.pk}: tags is now Kept, New.\n"
    assert names(feed) == ["Kept", "New"]
    assert not Tag.objects.filter(name="Old").exists()


def test_alter_feed_changes_how_it_is_read() -> None:
    feed = FeedFactory(use_hub=False)
    said = printed(
        "alter_feed",
        str(feed.pk),
        "--pace",
        "adaptive",
        "--use-hub",
        "--no-join-reposts",
        "--ceiling-minutes",
        "90",
    )
    assert "pace is now adaptive" in said
    assert "use hub is now on" in said
    assert "join reposts is now off" in said
    feed.refresh_from_db()
    assert (feed.pace, feed.use_hub, feed.join_reposts, feed.ceiling_minutes) == ("adaptive", True, False, 90)
    assert (feed.hold_floods, feed.recheck_every_minutes) == (True, 10)


def test_ping_still_sets_the_four_times_alone() -> None:
    feed = FeedFactory(ceiling_minutes=90)
    json_of("alter_feed", str(feed.pk), "--ping")
    feed.refresh_from_db()
    assert (feed.min_delay_minutes, feed.recheck_every_minutes, feed.ceiling_minutes) == (0, 0, 90)


def test_a_password_is_read_from_what_is_piped_in(monkeypatch: pytest.MonkeyPatch) -> None:
    feed = FeedFactory()
    monkeypatch.setattr("sys.stdin", io.StringIO("ge heim \nmore\n"))
    said = printed("alter_feed", str(feed.pk), "--user", "ada")
    assert said == f"Feed {feed.pk}: credentials is now a user name and password.\n"
    feed.refresh_from_db()
    assert feed.credentials.open() == {"user": "ada", "password": "ge heim "}


def test_a_header_is_taken_or_asked_for_and_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    feed = FeedFactory()
    assert "geheim" not in printed("alter_feed", str(feed.pk), "--header", "X-Key: geheim")
    feed.refresh_from_db()
    assert headers_for(feed) == {"X-Key": "geheim"}
    monkeypatch.setattr("sys.stdin", io.StringIO("other\n"))
    printed("alter_feed", str(feed.pk), "--header", "X-Key: -")
    feed.refresh_from_db()
    assert headers_for(feed) == {"X-Key": "other"}
    assert (
        printed("alter_feed", str(feed.pk), "--no-credentials")
        == f"Feed {feed.pk}: credentials is now nothing.\n"
    )
    feed.refresh_from_db()
    assert headers_for(feed) == {}


def test_a_new_host_forgets_them_and_says_so() -> None:
    feed = FeedFactory(credentials={"user": "ada", "password": "geheim"})
    said = printed("alter_feed", str(feed.pk), "--url", "https://ada:neu@elsewhere.example/")
    assert "url is now https://elsewhere.example/" in said
    assert "neu" not in said
    said = printed("alter_feed", str(feed.pk), "--url", "https://third.example/")
    assert "the credentials of the old address are forgotten" in said
    feed.refresh_from_db()
    assert not feed.credentials


def test_open_newsletters_are_warned_about() -> None:
    feed = FeedFactory()
    SubscribableFactory(feeds=[feed], title="Wide")
    out, err = io.StringIO(), io.StringIO()
    call_command("alter_feed", str(feed.pk), "--header", "X-Key: geheim", stdout=out, stderr=err)
    assert "“Wide”" in err.getvalue()
    assert "geheim" not in out.getvalue() + err.getvalue()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--pace", "hectic"], "invalid choice"),
        (["--ceiling-minutes", "-1"], "whole number"),
        (["--ceiling-minutes", "999999"], "--ceiling-minutes:"),
        (["--tag", "a,b"], "--tag: A tag is 1 to 100 characters"),
        (["--untag", ""], "--tag: A tag is"),
        (["--password-file", "/nowhere"], "give --user, too"),
        (["--user", "ada", "--password-file", "/nowhere"], "--password-file: /nowhere cannot be read"),
        (["--user", "a", "--header", "X: y"], "not allowed with"),
        (["--header", "X-Key"], "write it as “Name: value”"),
        (["--header", "Host: geheim"], "--header: Host is part of every request"),
        (["--header", "X-Key: y", "--no-credentials"], "--no-credentials: leave it out"),
    ],
)
def test_what_makes_no_sense_is_refused_in_a_sentence(words: list[str], said: str) -> None:
    feed = FeedFactory()
    message = refused("alter_feed", str(feed.pk), *words)
    assert said in message
    assert "geheim" not in message


@pytest.mark.parametrize("word", ["active", "failing", "held", "paused", "stopped"])
def test_health_is_the_word_of_the_list(word: str) -> None:
    for held in (None, "2026-03-02T12:00Z"):
        for failures in (0, 1):
            for status in ("active", "paused", "stopped"):
                FeedFactory(status=status, failures=failures, held_since=held)
    chosen = {row["id"] for row in json_of("list_feeds", "--health", word)}
    assert chosen == {row["id"] for row in json_of("list_feeds") if row["status"] == word}
    assert chosen
