"""Microsub actions: responses and error messages.

From a URL to a post that is read, by Microsub alone.
"""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client

from common.rates import Limit
from reader.channels.channels import add_channel, alter_channel
from reader.entries.place import place_due
from reader.microsub.actions import ASKED, POSTED
from reader.microsub.view import EVENTS
from reader.models import Channel, Entry, Reader, TimelineEntry, Token, Unread
from reader.people.tokens import make_token, revoke
from reader.rules.parameters import SCOPES
from tests.examples import some_now
from tests.factories import NOW, FeedFactory
from tests.feeds.watched import Blog, at
from tests.reader.client import MicrosubClient
from tests.reader.posts import an_entry, minutes, put

pytestmark = pytest.mark.django_db
AUTHOR = "https://author.example/"
WHAT_NEEDS = [
    ("get", "channels", {}, {"read"}),
    ("post", "channels", {"name": "X"}, {"channels"}),
    ("get", "timeline", {"channel": "home"}, {"read"}),
    ("post", "timeline", {"channel": "home", "method": "mark_read", "entry": "1"}, {"read"}),
    ("get", "follow", {"channel": "home"}, {"read", "follow"}),
    ("post", "unfollow", {"channel": "home", "url": "https://e.example/"}, {"follow"}),
    ("get", "search", {"channel": "home", "query": "x"}, {"read"}),
    ("get", "mute", {"channel": "home"}, {"mute"}),
    ("post", "mute", {"channel": "home", "url": AUTHOR}, {"mute"}),
    ("post", "unmute", {"channel": "home", "url": AUTHOR}, {"mute"}),
    ("get", "block", {"channel": "home"}, {"block"}),
    ("post", "block", {"channel": "home", "url": AUTHOR}, {"block"}),
    ("post", "unblock", {"channel": "home", "url": AUTHOR}, {"block"}),
]
CLOSED = [
    ("post", "follow", {"channel": "home", "url": "https://e.example/"}, "follow"),
    ("post", "search", {"query": "e.example"}, "read"),
    ("get", "preview", {"url": "https://e.example/"}, "read"),
    ("post", "preview", {"url": "https://e.example/"}, "read"),
    ("get", "events", {}, "read"),
]


def ids(answer: dict[str, Any]) -> list[str]:
    return [one["_id"] for one in answer["items"]]


class TestChannels:
    def test_the_notifications_are_first_and_stay(self, api: MicrosubClient) -> None:
        assert api.ask("channels") == {
            "channels": [
                {"uid": "notifications", "name": "Notifications", "unread": 0},
                {"uid": "home", "name": "Home", "unread": 0},
            ]
        }
        for given in ({"method": "delete"}, {"name": "New"}):
            status, answer = api.post("channels", channel="notifications", **given)
            assert (status, answer["error"]) == (400, "invalid_request")

    def test_a_new_one_is_on_top_and_the_same_name_is_refused(self, api: MicrosubClient) -> None:
        api.do("channels", name="A")
        made = api.do("channels", name="  B\n ")
        assert made == {"uid": made["uid"], "name": "B", "unread": 0}
        assert [one["name"] for one in api.ask("channels")["channels"]] == ["Notifications", "B", "A", "Home"]
        status, answer = api.post("channels", name="A")
        assert (status, answer["error"]) == (400, "duplicate")
        status, answer = api.post("channels", channel=made["uid"], name="A")
        assert (status, answer["error"]) == (400, "duplicate")
        assert api.do("channels", channel=made["uid"], name="B")["name"] == "B", "its own is none"

    @pytest.mark.parametrize("name", ["x" * 101, "\u202e"])
    def test_a_name_is_one_to_a_hundred_characters(self, api: MicrosubClient, name: str) -> None:
        assert api.post("channels", name=name)[0] == 400

    def test_only_those_named_change_their_places(self, api: MicrosubClient) -> None:
        uids = {name: api.do("channels", name=name)["uid"] for name in "DCBA"}
        answer = api.do("channels", method="order", **{"channels[]": [uids["D"], "notifications", uids["A"]]})
        assert [one["name"] for one in answer["channels"]] == ["Notifications", "D", "B", "C", "A", "Home"]
        status, _ = api.post("channels", method="order", **{"channels[]": [uids["A"], "nonsense"]})
        assert status == 400
        assert [one["name"] for one in api.ask("channels")["channels"]][1] == "D", "nothing moved"

    def test_each_mode_of_counting_has_one_type(
        self, api: MicrosubClient, ada: Reader, home: Channel
    ) -> None:
        put(home)
        for mode, before, after in (("count", 1, 0), ("flag", True, False)):
            alter_channel(channel=home, unread_mode=mode)
            assert api.unread() is before or api.unread() == before
            row = Unread.objects.get()
            Unread.objects.all().delete()
            assert repr(api.unread()) == repr(after)
            row.save(force_insert=True)
        alter_channel(channel=home, unread_mode="off")
        assert "unread" not in api.ask("channels")["channels"][1]

    def test_a_tree_lists_the_feeds_of_each(self, api: MicrosubClient, home: Channel) -> None:
        feed = FeedFactory(title="Blog")
        home.follows.create(feed=feed)
        put(home, an_entry(feed=feed))
        put(home, an_entry(feed=feed), is_unread=False, at=minutes(1))
        (source,) = api.ask("channels", method="tree")["channels"][1]["sources"]
        assert source == {
            "uid": str(feed.pk),
            "url": feed.url,
            "name": "Blog",
            "unread": 1,
            "total": 2,
            "last_update": minutes(1).isoformat(),
        }


class TestTimeline:
    def test_read_and_unread_posts_come_newest_first(self, api: MicrosubClient, home: Channel) -> None:
        old, new = put(home, is_unread=False), put(home, at=minutes(1))
        answer = api.ask("timeline", channel="home")
        assert ids(answer) == [str(new.pk), str(old.pk)]
        assert [one["_is_read"] for one in answer["items"]] == [False, True]
        assert list(answer["paging"]) == ["before"]
        assert ids(api.ask("timeline", channel="home", is_read="false")) == [str(new.pk)]

    def test_nothing_has_no_paging(self, api: MicrosubClient) -> None:
        assert api.ask("timeline", channel="home") == {"items": [], "paging": {}}

    def test_global_is_all_channels_and_names_them(
        self, api: MicrosubClient, home: Channel, channel: Callable[[str], Channel]
    ) -> None:
        put(home)
        put(channel("other"), at=minutes(1))
        found = api.ask("timeline", channel="global")["items"]
        assert [one["_channel"]["uid"] for one in found] == ["other", "home"]

    def test_one_source_has_its_name(self, api: MicrosubClient, home: Channel) -> None:
        feed, other = FeedFactory(title="Blog"), FeedFactory()
        one = put(home, an_entry(feed=feed))
        put(home, an_entry(feed=other))
        answer = api.ask("timeline", channel="home", source=feed.pk)
        assert ids(answer) == [str(one.pk)]
        assert answer["source"] == {"_id": str(feed.pk), "url": feed.url, "name": "Blog"}
        assert api.get("timeline", channel="home", source=FeedFactory().pk)[0] == 404

    @pytest.mark.parametrize("name", ["before", "after"])
    def test_a_cursor_that_cannot_be_read_is_refused(self, api: MicrosubClient, name: str) -> None:
        status, answer = api.get("timeline", channel="home", **{name: "nonsense"})
        assert (status, answer["error"]) == (400, "invalid_cursor")
        assert api.get("timeline", channel="home", **{name: ""})[0] == 200

    def test_the_source_is_an_object_where_the_token_says_so(self, ada: Reader, home: Channel) -> None:
        put(home, an_entry(feed=FeedFactory(title="Blog")))
        (plain,) = MicrosubClient(ada).ask("timeline", channel="home")["items"]
        (other,) = MicrosubClient(ada, source_as_object=True).ask("timeline", channel="home")["items"]
        assert plain["_source"] == plain["_feed"]["_id"]
        assert other["_source"] == other["_feed"] == plain["_feed"]


class TestMarking:
    def test_from_a_post_down_in_this_channel_only(
        self, api: MicrosubClient, home: Channel, channel: Callable[[str], Channel]
    ) -> None:
        entry = an_entry()
        put(channel("other"), entry)
        old, shown = put(home, entry), put(home, at=minutes(1))
        put(home, at=minutes(2))
        answer = api.do("timeline", method="mark_read", channel="home", last_read_entry=shown.pk)
        assert answer == {"result": "ok", "updated": 2}
        assert (api.unread("home"), api.unread("other")) == (1, 1)
        assert not Unread.objects.filter(place=old).exists()
        everything = api.do("timeline", method="mark_read", channel="home", last_read_entry="everything")
        assert (everything["updated"], api.unread("home"), api.unread("other")) == (1, 0, 1)

    def test_ids_of_nothing_are_passed_over_and_marks_come_back(
        self, api: MicrosubClient, home: Channel
    ) -> None:
        place = put(home)
        given = {"entry[]": [str(place.pk), "999999", "nonsense", "9" * 30]}
        for method, unread in (("mark_read", 0), ("mark_unread", 1)):
            assert api.do("timeline", method=method, channel="home", **given)["updated"] == 1
            assert api.do("timeline", method=method, channel="home", **given)["updated"] == 0
            assert api.unread() == unread

    @pytest.mark.parametrize(
        "given",
        [
            {"method": "mark_read"},
            {"method": "mark_read", "last_read_entry": "999999"},
            {"method": "mark_read", "last_read_entry": "x"},
            {"method": "nonsense", "entry": "1"},
            {"entry": "1"},
        ],
    )
    def test_what_says_too_little_is_refused(self, api: MicrosubClient, given: dict[str, str]) -> None:
        status, answer = api.post("timeline", channel="home", **given)
        assert (status, answer["error"]) == (400, "invalid_request")

    def test_what_was_moved_stands_on_top_as_read_as_it_was(
        self, api: MicrosubClient, home: Channel, channel: Callable[[str], Channel]
    ) -> None:
        other = channel("other")
        put(other, at=minutes(5))
        read, unread = put(home, is_unread=False), put(home)
        given = {"entry[]": [read.pk, unread.pk], "channel": "other"}
        assert api.do("timeline", method="move", **given)["updated"] == 2
        assert api.names("home") == []
        assert api.unread("other") == 2
        assert len(api.names("other")) == 3
        assert api.do("timeline", method="move", **given)["updated"] == 0

    def test_in_global_the_ids_say_which(
        self, api: MicrosubClient, home: Channel, channel: Callable[[str], Channel]
    ) -> None:
        places = [put(home), put(channel("other"))]
        given = {"entry[]": [place.pk for place in places]}
        assert api.do("timeline", method="mark_read", channel="global", **given)["updated"] == 2


class TestMutes:
    def test_a_muted_author_is_hidden_and_comes_back_exactly(
        self, api: MicrosubClient, home: Channel
    ) -> None:
        put(home, an_entry(author="http://author.example"))
        put(home, an_entry(author=AUTHOR), is_unread=False)
        put(home)
        before = api.ask("timeline", channel="home"), api.ask("channels")
        api.do("mute", channel="home", url=AUTHOR)
        assert (len(api.names()), api.unread()) == (1, 1)
        assert api.ask("search", query="post", channel="home")["items"] != []
        assert len(api.ask("search", query="post", channel="global")["items"]) == 1
        assert api.ask("mute", channel="home")["items"] == [{"type": "card", "url": AUTHOR}]
        assert api.ask("mute", channel="global")["items"] == [], "of exactly that channel"
        api.do("unmute", channel="home", url=AUTHOR)
        assert (api.ask("timeline", channel="home"), api.ask("channels")) == before
        api.do("unmute", channel="home", url="https://nobody.example/")

    def test_one_mute_in_all_channels_counts_beside_another(self, api: MicrosubClient, home: Channel) -> None:
        put(home, an_entry(author=AUTHOR))
        api.do("mute", channel="global", url=AUTHOR)
        api.do("mute", channel="home", url=AUTHOR)
        api.do("unmute", channel="home", url=AUTHOR)
        assert api.names() == []
        api.do("unmute", channel="global", url=AUTHOR)
        assert len(api.names()) == 1

    def test_a_block_takes_posts_out_for_ever(self, api: MicrosubClient, home: Channel) -> None:
        put(home, an_entry(author=AUTHOR))
        api.do("block", channel="global", url=AUTHOR)
        assert api.ask("block", channel="global")["items"] == [{"type": "card", "url": AUTHOR}]
        api.do("unblock", channel="global", url=AUTHOR)
        assert (api.names(), api.unread()) == ([], 0)

    def test_nonsense_is_no_author(self, api: MicrosubClient) -> None:
        assert api.post("mute", channel="home", url="javascript:alert(1)")[0] == 400


def test_every_action_is_tried_without_its_scope() -> None:
    tried = {(verb, action) for verb, action, *_ in (*WHAT_NEEDS, *CLOSED)}
    actions = {("get", action) for action in (*ASKED, EVENTS)} | {("post", action) for action in POSTED}
    assert tried == actions


class TestRights:
    @pytest.mark.parametrize(("verb", "action", "given", "enough"), some_now(WHAT_NEEDS))
    def test_each_scope_opens_what_it_covers_and_nothing_else(
        self, ada: Reader, verb: str, action: str, given: dict[str, Any], enough: set[str]
    ) -> None:
        for scope in SCOPES:
            status, answer = getattr(MicrosubClient(ada, scopes=[scope]), verb)(action, **given)
            assert (status == 200) == (scope in enough), answer
            if status != 200:
                assert (status, answer["error"]) == (403, "insufficient_scope")
                assert answer["scope"] in enough

    @pytest.mark.parametrize(("verb", "action", "given", "named"), CLOSED)
    def test_what_asks_the_network_needs_a_scope_first(
        self, ada: Reader, verb: str, action: str, given: dict[str, Any], named: str
    ) -> None:
        status, answer = getattr(MicrosubClient(ada, scopes=["mute"]), verb)(action, **given)
        assert (status, answer["scope"]) == (403, named)

    def test_a_token_is_shown_once_and_never_in_the_address(self, ada: Reader, api: MicrosubClient) -> None:
        bare = Client()
        answer = bare.get(api.address + "?action=channels")
        assert (answer.status_code, answer.json()["error"]) == (401, "unauthorized")
        assert answer["WWW-Authenticate"] == "Bearer"
        in_query = bare.get(f"{api.address}?action=channels&access_token={api.key}")
        assert in_query.status_code == 400
        form, kind = f"action=channels&name=X&access_token={api.key}", "application/x-www-form-urlencoded"
        assert bare.post(api.address, form, content_type=kind).status_code == 200
        assert bare.post(api.address, form, content_type=kind, headers=api.headers).status_code == 400

    def test_a_session_opens_nothing(self, ada: Reader, api: MicrosubClient) -> None:
        client = Client()
        client.force_login(ada.user)
        assert client.get(api.address + "?action=channels").status_code == 401

    @pytest.mark.parametrize("how", ["revoked", "unknown", "inactive", "not staff"])
    def test_a_key_that_is_not_good_opens_nothing(
        self, ada: Reader, api: MicrosubClient, settings: Any, how: str
    ) -> None:
        match how:
            case "revoked":
                revoke(Token.objects.get(), now=NOW)
            case "unknown":
                api.headers = {"Authorization": "Bearer nonsense"}
            case "inactive":
                ada.user.is_active = False
                ada.user.save()
            case "not staff":
                settings.READER = "staff"
        status, answer = api.get("channels")
        assert (status, answer["error"]) == (401, "invalid_token")

    def test_keys_are_kept_as_digests_only(self, ada: Reader) -> None:
        token, key = make_token(reader=ada, client="x", now=NOW)
        assert key not in repr(Token.objects.filter(pk=token.pk).values().get())

    def test_a_client_that_asks_without_end_is_stopped(
        self, api: MicrosubClient, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        cache.clear()
        monkeypatch.setattr("reader.microsub.view.MICROSUB_CALLS", Limit("microsub-calls", 2))
        answers = [api.get("channels")[0] for _ in range(3)]
        assert answers == [200, 200, 429]
        response = api.http.get(api.address + "?action=channels", headers=api.headers)
        assert response["Retry-After"] == "60"
        cache.clear()


class TestTransport:
    def test_browsers_may_ask_from_anywhere(self, api: MicrosubClient) -> None:
        answer = Client().options(api.address)
        assert answer.status_code == 204
        assert answer["Access-Control-Allow-Origin"] == "*"
        for name in ("Authorization", "Content-Type", "Cache-Control", "Last-Event-ID"):
            assert name in answer["Access-Control-Allow-Headers"]

    def test_both_spellings_of_the_address_answer_a_post(self, api: MicrosubClient) -> None:
        api.address += "/"
        assert api.post("channels", name="X")[0] == 200

    @pytest.mark.parametrize("method", ["put", "delete", "patch"])
    def test_other_methods_are_refused_in_json(self, api: MicrosubClient, method: str) -> None:
        answer = getattr(api.http, method)(api.address, headers=api.headers)
        assert (answer.status_code, answer.json()["error"]) == (405, "invalid_request")

    def test_a_large_body_and_one_of_no_length_are_refused_in_json(self, api: MicrosubClient) -> None:
        assert api.send("a=" + "x" * 1_000_001)[0] == 413
        answer = api.http.generic(
            "POST", api.address, b"", headers={**api.headers, "Transfer-Encoding": "chunked"}
        )
        assert answer.status_code == 411

    @pytest.mark.parametrize("given", [{}, {"action": ""}, {"action": "nonsense"}])
    def test_an_unknown_action_is_refused(self, api: MicrosubClient, given: dict[str, str]) -> None:
        answer = api.http.get(api.address, given, headers=api.headers)
        assert (answer.status_code, answer.json()["error"]) == (400, "invalid_request")

    def test_what_fails_on_our_side_is_json_too(
        self, api: MicrosubClient, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fails(*_: Any, **__: Any) -> None:
            raise RuntimeError

        monkeypatch.setattr("reader.microsub.view.answer", fails)
        status, answer = api.get("channels")
        assert (status, answer["error"]) == (500, "server_error")


def the_whole_of(reader: Reader) -> Any:
    """Return all of a reader's rows."""
    return (
        list(reader.channels.order_by("pk").values()),
        list(reader.places.order_by("pk").values()),
        list(Unread.objects.filter(reader=reader).order_by("pk").values()),
        list(reader.mutes.order_by("pk").values()),
        [list(row.follows.values()) for row in reader.channels.order_by("pk")],
    )


def test_bob_with_every_id_of_adas_changes_and_sees_nothing(ada: Reader, bob: Reader) -> None:
    feed = FeedFactory(url="https://blog.example/feed")
    secret = add_channel(reader=ada, name="Secret")
    secret.follows.create(feed=feed)
    place = put(secret, an_entry(feed=feed, author=AUTHOR))
    before, api = the_whole_of(ada), MicrosubClient(bob)
    mine = {"channel": "home", "entry": place.pk, "url": feed.url, "source": feed.pk}
    theirs = {**mine, "channel": secret.uid}
    answers = []
    for action in ("timeline", "follow", "mute", "block"):
        answers.append(api.get(action, **theirs))
    answers.append(api.get("search", **theirs, query="post"))
    answers.append(api.get("timeline", **mine))
    for action in ("follow", "unfollow", "mute", "unmute", "block", "unblock"):
        answers.append(api.post(action, **theirs))
    answers += [
        api.post("channels", channel=secret.uid, name="Mine"),
        api.post("channels", channel=secret.uid, method="delete"),
        api.post("timeline", **{**theirs, "method": "mark_read"}),
        api.post("timeline", **{**theirs, "method": "move"}),
        api.post("follow", channel=secret.uid, url=feed.url, method="update"),
    ]
    assert {(status, answer["error"]) for status, answer in answers} == {(404, "not_found")}
    for method in ("mark_read", "mark_unread", "remove", "move"):
        for channel in ("home", *(["global"] if method != "move" else [])):
            assert api.do("timeline", method=method, channel=channel, entry=place.pk)["updated"] == 0
    given = {"method": "mark_read", "channel": "home", "last_read_entry": place.pk}
    assert api.post("timeline", **given)[0] == 400
    for channel in ("home", "global"):
        api.do("mute", channel=channel, url=AUTHOR)
        api.do("block", channel=channel, url=AUTHOR)
    assert api.ask("timeline", channel="global")["items"] == []
    assert api.ask("search", channel="global", query="post")["items"] == []
    assert the_whole_of(ada) == before
    api.address = "/microsub/ada"
    assert api.get("channels")[0] == 403, "a token opens its own reader's address only"
    assert Token.objects.filter(last_used_at__lt=NOW - timedelta(days=1)).count() == 0


def test_a_feed_is_followed_read_and_its_posts_arrive(blog: Blog, api: MicrosubClient) -> None:
    blog.show("b", "a", title="Blog")
    url = blog.server.url(blog.path)
    made = api.do("channels", name="News")
    assert (made["name"], made["unread"]) == ("News", 0)
    followed = api.do("follow", channel=made["uid"], url=url)
    assert followed["url"] == url
    (feed,) = api.ask("follow", channel=made["uid"])["items"]
    assert (feed["type"], feed["url"]) == ("feed", url)
    from feeds.models import Feed

    blog.feed = Feed.objects.get()
    assert (blog.feed.for_letters, blog.feed.read_by, blog.feed.pace) == (False, 1, "adaptive")
    blog.read(0)
    assert place_due() == 2
    assert api.names(made["uid"]) == ["Post b", "Post a"]
    blog.show("c", "b", "a", title="Blog")
    blog.read(10)
    place_due()
    assert api.names(made["uid"])[0] == "Post c"
    first = api.ask("timeline", channel=made["uid"])["items"][0]
    assert first["_is_read"] is False
    assert api.do("timeline", method="mark_read", channel=made["uid"], entry=first["_id"])["updated"] == 1
    assert api.ask("timeline", channel=made["uid"])["items"][0]["_is_read"] is True
    assert TimelineEntry.objects.count() == Entry.objects.count() == 3
    assert at(0)
