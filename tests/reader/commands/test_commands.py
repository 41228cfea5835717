"""Readers' commands: output and error messages."""

from pathlib import Path

import pytest

from feeds.models import Feed
from reader.models import AppPassword, Channel, Entry, Follow, Reader, TimelineEntry, Token
from reader.people.tokens import sign_in
from tests.console import json_of, printed, refused
from tests.factories import FeedFactory
from tests.feeds.watched import Blog
from tests.reader.channels.test_opml import LIST
from tests.reader.client import MicrosubClient
from tests.reader.posts import an_entry, put

pytestmark = pytest.mark.django_db


def test_from_nothing_to_a_post(blog: Blog, settings: object) -> None:
    assert printed("list_readers").startswith("Nobody uses the reader yet")
    made = json_of("add_reader", "ada")
    assert made["microsub"] == "http://127.0.0.1:8000/microsub/ada"
    reader = Reader.objects.get()
    assert not reader.user.has_usable_password()
    assert MicrosubClient(reader, key=made["key"]).get("channels")[0] == 200
    blog.show("a")
    blog.watch()
    blog.read(0)
    followed = json_of("follow", "ada", blog.feed.url, "--channel", "Home")
    assert (followed["feed"], followed["channel"]) == (blog.feed.pk, "Home")
    (row,) = json_of("list_follows", "ada", "--channel", "home")
    assert row["url"] == blog.feed.url
    (post,) = json_of("list_entries", "ada")
    assert (post["title"], post["channel"]) == ("Post a", "Home")
    assert json_of("list_readers")[0] | {"made_at": "", "last_seen_at": ""} == {
        "name": "ada",
        "user": "ada",
        "channels": 2,
        "follows": 1,
        "max_feeds": None,
        "made_at": "",
        "last_seen_at": "",
        "leaving_at": None,
    }
    assert json_of("unfollow", "ada", str(blog.feed.pk)) == {"channels": 1}
    assert "doesn’t follow" in refused("unfollow", "ada", str(blog.feed.pk))
    assert json_of("list_follows", "ada") == []


def test_posts_that_wait_are_placed(ada: Reader, home: Channel) -> None:
    feed = FeedFactory()
    Follow.objects.create(channel=home, feed=feed)
    entry = an_entry(feed=feed, placed_at=None)
    Entry.objects.filter(pk=entry.pk).update(due_at=entry.seen_at)
    assert json_of("place") == {"placed": 1}
    assert json_of("place") == {"placed": 0}
    assert len(json_of("list_entries", "ada", "--channel", "Home", "--unread")) == 1


def test_keys_are_made_listed_and_revoked(ada: Reader) -> None:
    made = json_of("reader_token", "ada", "--client", "phone", "--scope", "read", "--source-object")
    assert (made["client"], made["scopes"]) == ("phone", ["read"])
    assert Token.objects.get().source_as_object
    api = MicrosubClient(ada, key=made["key"])
    assert (api.get("channels")[0], api.post("channels", name="X")[0]) == (200, 403)
    (listed,) = json_of("reader_token", "ada", "--list")
    assert "key" not in listed
    assert json_of("reader_token", "ada", "--revoke", str(made["id"]))["revoked_at"]
    assert api.get("channels")[0] == 401


def test_app_passwords_are_made_listed_and_revoked(ada: Reader) -> None:
    assert printed("app_password", "ada", "--list").startswith("No app passwords yet")
    made = json_of("app_password", "ada", "--app", "phone")
    assert (made["address"], made["user"]) == ("http://127.0.0.1:8000/api/greader.php", "ada")
    opened = sign_in(name="ada", password=made["password"], ip="")
    assert opened == AppPassword.objects.get()
    (listed,) = json_of("app_password", "ada", "--list")
    assert (listed["app"], "password" in listed) == ("phone", False)
    assert json_of("app_password", "ada", "--revoke", str(made["id"]))["revoked_at"]
    assert sign_in(name="ada", password=made["password"], ip="") is None
    assert "There is no password 999." in refused("app_password", "ada", "--revoke", "999")
    assert "at most 100 characters" in refused("app_password", "ada", "--app", " ")


def test_a_channel_is_altered(ada: Reader, home: Channel) -> None:
    row = json_of("alter_channel", "ada", "Home", "--unread", "flag", "--keep-days", "3")
    assert row == {
        "uid": "home",
        "name": "Home",
        "unread_mode": "flag",
        "keep_days": 3,
        "layout": "list",
        "filters": None,
    }
    put(home)
    row = json_of(
        "alter_channel", "ada", "home", "--hide-kind", "article", "--hide", "sea", "--layout", "cards"
    )
    assert row["layout"] == "cards"
    assert row["filters"] == {"kinds": ["article"], "hide": ["sea"], "keep": []}
    assert json_of("list_entries", "ada") == []
    assert json_of("alter_channel", "ada", "home", "--no-filters")["filters"] is None
    assert len(json_of("list_entries", "ada")) == 1
    assert json_of("alter_channel", "ada", "home", "--keep-days", "0")["keep_days"] is None
    assert "Name at least one change" in refused("alter_channel", "ada", "Home")


def test_lists_come_in_and_go_out(ada: Reader, tmp_path: Path) -> None:
    file = tmp_path / "feeds.opml"
    file.write_text(LIST)
    assert printed("import_follows", "ada", str(file)).startswith(
        "5 feeds followed, 1 followed already, 3 refused.\nLine 10: Secret: The address contains a user name"
    )
    again = json_of("import_follows", "ada", str(file), "--channel", "News, daily")
    assert (again["followed"], again["known"], len(again["refused"])) == (1, 5, 3)
    out = tmp_path / "out.opml"
    printed("export_follows", "ada", "--output", str(out))
    assert out.read_text() == printed("export_follows", "ada")
    assert len(json_of("export_follows", "ada")) == 6
    assert "cannot be read" in refused("import_follows", "ada", str(tmp_path / "none"))


def test_erasing_takes_what_is_theirs_and_nothing_of_others(ada: Reader, bob: Reader, home: Channel) -> None:
    feed = FeedFactory()
    entry = an_entry(feed=feed)
    for channel in (home, bob.channels.get(uid="home")):
        Follow.objects.create(channel=channel, feed=feed)
        put(channel, entry)
    Feed.objects.update(read_by=2)
    MicrosubClient(ada).do("mute", channel="global", url="https://a.example/")
    assert "--yes" in refused("drop_reader", "ada")
    assert printed("drop_reader", "ada", "--yes").strip() == "ada was erased."
    assert list(Reader.objects.all()) == [bob]
    assert TimelineEntry.objects.get().reader == bob
    feed.refresh_from_db()
    assert (feed.read_by, Entry.objects.count()) == (1, 1)
    assert Token.objects.count() == 0


def test_somebody_is_invited_and_the_invitation_taken_back(db: None) -> None:
    assert printed("list_invitations").startswith("No invitations yet")
    made = json_of("add_reader", "ada", "--invite", "--days", "2", "--max-feeds", "5")
    assert made["link"].startswith("http://127.0.0.1:8000/reader/invitation/")
    assert not Reader.objects.exists()
    (row,) = json_of("list_invitations")
    assert "link" not in row
    assert (row["id"], row["name"], row["revoked_at"]) == (made["id"], "ada", None)
    assert json_of("revoke_invitation", str(made["id"]))["revoked_at"]
    assert "already used or revoked" in refused("revoke_invitation", str(made["id"]))


def test_a_limit_is_set_for_one_person(ada: Reader, home: Channel) -> None:
    assert json_of("alter_reader", "ada", "--max-feeds", "1") == {"name": "ada", "max_feeds": 1}
    Follow.objects.create(channel=home, feed=FeedFactory())
    assert "You follow 1 feed," in refused("follow", "ada", "https://blog.example/")
    assert json_of("alter_reader", "ada", "--max-feeds", "0")["max_feeds"] is None


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["add_reader", "Ada!"], "lower-case letters, digits and hyphens"),
        (["add_reader", "ada"], "The reader “ada” already exists."),
        (["add_reader", "eve", "--user", "nobody"], "There is no user “nobody”."),
        (["add_reader", "eve", "--user", "ada"], "“ada” already uses the reader."),
        (["add_reader", "eve", "--invite", "--user", "ada"], "--user goes not with --invite."),
        (["add_reader", "eve", "--days", "3"], "--days goes only with --invite."),
        (["add_reader", "eve", "--invite", "--days", "91"], "Give 1 to 90 days."),
        (["add_reader", "eve", "--invite", "--mail", "e@e.example"], "This site can’t send email."),
        (["revoke_invitation", "7"], "There is no invitation 7."),
        (["list_follows", "eve"], "There is no reader eve."),
        (["list_entries", "ada", "--channel", "Nowhere"], "Channels: Notifications, Home."),
        (["follow", "ada", "mailto:x@e.example"], "begins with http"),
        (
            ["follow", "ada", "https://e.example/", "--channel", "Notifications"],
            "can’t follow feeds in the notifications",
        ),
    ],
)
def test_refusals(ada: Reader, words: list[str], said: str) -> None:
    assert said in refused(*words)
