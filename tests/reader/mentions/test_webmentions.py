"""Webmentions from the request to the notifications, over real sockets."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from common.clock import utcnow
from common.rates import Limit
from reader.channels.filters import mute, unmute
from reader.entries.place import place_due
from reader.entries.prune import prune_entries
from reader.mentions import check, receive
from reader.mentions.check import check_due
from reader.models import Entry, Mention, Reader, TimelineEntry, Unread
from reader.people.readers import drop_reader
from reader.timelines.stars import star
from tests.examples import NIGHTLY
from tests.factories import NOW
from tests.races import beside
from tests.reader.client import MicrosubClient
from tests.reader.mentions.conftest import FORM, HTML, reply_to
from tests.servers.feed_server import FeedServer

Send = Callable[..., Any]
NEVER_MORE = timedelta(days=3650)


def looked(later: timedelta = timedelta(0)) -> int:
    """Check and show all webmentions that are due at that time."""
    done = check_due(clock=lambda: utcnow() + later)
    place_due(clock=lambda: utcnow() + later)
    return done


def said(reader: Reader) -> list[str]:
    """Return the texts of the notifications."""
    places = TimelineEntry.objects.seen().filter(reader=reader, channel__is_notifications=True).order_by("pk")
    return [place.entry.jf2["content"]["text"] for place in places.select_related("entry") if place.entry.jf2]


@pytest.fixture
def source(server: FeedServer, page: str) -> str:
    return server.serve("/reply", reply_to(page), headers=HTML)


def test_a_reply_becomes_an_unread_notification_with_its_author(
    ada: Reader, send: Send, source: str, page: str
) -> None:
    assert send(source, page).status_code == 202
    assert looked() == 1
    api = MicrosubClient(ada)
    (item,) = api.ask("timeline", channel="notifications")["items"]
    assert item["content"]["text"] == "Well said."
    assert item["author"] == {"type": "card", "name": "Bob", "url": "https://bob.example/"}
    assert item["in-reply-to"] == [page]
    assert item["url"] == source
    assert item["_is_read"] is False
    assert api.unread("notifications") == 1
    assert Entry.objects.get().kind == "reply"


def test_nothing_is_asked_before_the_answer(send: Send, server: FeedServer, source: str, page: str) -> None:
    send(source, page)
    assert server.requests == []


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"source": ""}, "source"),
        ({"source": "ftp://blog.example/a"}, "source"),
        ({"source": "javascript:alert(1)"}, "source"),
        ({"source": "https:///a"}, "source"),
        ({"source": "https://blog.example/" + "a" * 5000}, "source"),
        ({"source": "https://blog.example/a\nb"}, "source"),
        ({"target": ""}, "target"),
        ({"target": "https://other.example/"}, "target"),
        ({"source": "SAME"}, "source"),
    ],
)
def test_what_can_never_be_a_mention_is_refused_at_once(
    send: Send, source: str, page: str, changed: dict[str, str], field: str
) -> None:
    given = {"source": source, "target": page, **changed}
    answer = send(page if given["source"] == "SAME" else given["source"], given["target"])
    assert answer.status_code == 400
    assert field in answer.content.decode()
    assert not Mention.objects.exists()


def test_pages_of_others_are_no_targets(send: Send, source: str, page: str, bob: Reader) -> None:
    assert send(source, page.replace("@ada", f"@{bob.slug}")).status_code == 400


def test_both_spellings_answer_and_only_to_forms_that_are_posted(ada: Reader, source: str, page: str) -> None:
    body = f"source={source}&target={page}"
    for address in ("/webmention/ada", "/webmention/ada/"):
        assert Client().post(address, body, content_type=FORM).status_code == 202
        assert Client().post(address, body, content_type="text/plain").status_code == 400
        answer = Client().get(address)
        assert (answer.status_code, answer.headers["Allow"]) == (405, "POST")
    assert Client().post("/webmention/nobody", body, content_type=FORM).status_code == 404


@pytest.mark.parametrize(
    ("markup", "kind", "relation"),
    [
        ('<a class="u-like-of" href="%s"></a>', "like", "like-of"),
        ('<a class="u-repost-of" href="%s"></a>', "repost", "repost-of"),
        ('<a class="u-bookmark-of" href="%s"></a>', "bookmark", "bookmark-of"),
        ('<a class="u-in-reply-to" href="%s"></a><data class="p-rsvp" value="yes">', "rsvp", "in-reply-to"),
        (
            '<a class="u-in-reply-to" href="https://o.example/"></a><a href="%s">x</a>',
            "mention",
            "mention-of",
        ),
        ('<p class="e-content"><a href="%s">Ada</a></p>', "mention", "mention-of"),
    ],
)
def test_the_kind_is_what_the_post_does_with_the_page(
    send: Send, server: FeedServer, page: str, markup: str, kind: str, relation: str
) -> None:
    source = server.serve("/post", f'<div class="h-entry">{markup % page}</div>', headers=HTML)
    send(source, page)
    looked()
    entry = Entry.objects.get()
    assert entry.kind == kind
    assert entry.jf2
    assert page in entry.jf2[relation]


def test_of_a_page_with_many_posts_the_one_that_answers_counts(
    ada: Reader, send: Send, server: FeedServer, page: str
) -> None:
    others = '<div class="h-entry"><p class="e-content">Of something else.</p></div>'
    body = f'<div class="h-feed">{others}</div>{reply_to(page)}{others}'
    send(server.serve("/all", body, headers=HTML), page)
    looked()
    assert said(ada) == ["Well said."]


def test_a_page_without_posts_is_shown_by_its_title(send: Send, server: FeedServer, page: str) -> None:
    body = f"<title>Links &amp; more</title><a href='{page}'>Ada</a>"
    source = server.serve("/links", body, headers=HTML)
    send(source, page)
    looked()
    jf2 = Entry.objects.get().jf2
    assert jf2
    assert (jf2["name"], jf2["url"]) == ("Links & more", source)
    assert jf2["author"]["name"] == f"127.0.0.1:{server.port}"


@pytest.mark.parametrize(
    ("kind", "body", "is_one"),
    [
        ("text/plain", "I liked %s, really.", True),
        ("text/plain", "I liked %s2, really.", False),
        ("application/json", '{"properties": {"like-of": ["%s"]}}', True),
        ("application/mf2+json", '{"like-of": "%s"}', True),
        ("application/json", '{"text": "see %s"}', False),
        ("text/html", "<!-- <a href='%s'>Ada</a> -->", False),
        ("text/html", "<a href='%s-2'>Ada</a>", False),
        ("text/html", "%s", False),
        ("application/pdf", "%s", False),
        ("image/svg+xml", "<svg><a href='%s'/></svg>", False),
    ],
)
def test_only_a_link_is_one_whatever_the_type(
    send: Send, server: FeedServer, page: str, kind: str, body: str, is_one: bool
) -> None:
    send(server.serve("/post", body % page, headers={"Content-Type": kind}), page)
    assert looked() == 1
    assert Entry.objects.exists() is is_one
    mention = Mention.objects.get()
    assert (mention.due_at, bool(mention.problem)) == (None, not is_one)


def test_an_update_is_shown_and_stays_as_read_as_it_was(
    ada: Reader, send: Send, server: FeedServer, source: str, page: str
) -> None:
    send(source, page)
    looked()
    Unread.objects.all().delete()
    server.serve("/reply", reply_to(page, words="Better said."), headers=HTML)
    assert send(source, page).status_code == 202
    assert looked() == 0, "a pair is looked at once a minute"
    assert looked(timedelta(minutes=2)) == 1
    assert said(ada) == ["Better said."]
    assert not Unread.objects.exists()
    assert (Mention.objects.count(), Entry.objects.count(), TimelineEntry.objects.count()) == (1, 1, 1)


@pytest.mark.parametrize("how", ["410", "404", "no link"])
def test_what_is_taken_back_leaves_the_notifications_and_may_return(
    ada: Reader, send: Send, server: FeedServer, source: str, page: str, how: str
) -> None:
    send(source, page)
    looked()
    status, body = (int(how), "") if how.isdigit() else (200, reply_to("https://other.example/"))
    server.serve("/reply", body, status=status, headers=HTML)
    send(source, page)
    looked(timedelta(minutes=2))
    assert said(ada) == []
    assert not Unread.objects.exists()
    server.serve("/reply", reply_to(page, words="Again."), headers=HTML)
    Mention.objects.update(checked_at=utcnow() - timedelta(hours=1))
    send(source, page)
    looked(timedelta(minutes=4))
    assert said(ada) == ["Again."]
    assert TimelineEntry.objects.count() == 1


def test_what_is_starred_stays_when_it_is_taken_back(
    ada: Reader, send: Send, server: FeedServer, source: str, page: str
) -> None:
    send(source, page)
    looked()
    star(reader=ada, entries=[Entry.objects.get().pk], now=utcnow())
    server.serve("/reply", "", status=410)
    send(source, page)
    looked(timedelta(minutes=2))
    assert said(ada) == ["Well said."]


def test_what_was_removed_by_hand_does_not_come_back_by_an_update(
    ada: Reader, send: Send, server: FeedServer, source: str, page: str
) -> None:
    send(source, page)
    looked()
    api = MicrosubClient(ada)
    (item,) = api.ask("timeline", channel="notifications")["items"]
    api.do("timeline", method="remove", channel="notifications", entry=item["_id"])
    server.serve("/reply", reply_to(page, words="Again."), headers=HTML)
    send(source, page)
    looked(timedelta(minutes=2))
    assert said(ada) == []


@pytest.mark.parametrize("first", [True, False])
def test_a_muted_author_is_hidden_until_unmuted(
    ada: Reader, send: Send, source: str, page: str, first: bool
) -> None:
    bob = {"reader": ada, "channel": None, "url": "https://bob.example/"}
    if first:
        mute(**bob, now=utcnow())  # type: ignore[arg-type]
    send(source, page)
    looked()
    if not first:
        mute(**bob, now=utcnow())  # type: ignore[arg-type]
    assert (said(ada), Unread.objects.count()) == ([], 0)
    unmute(**bob)  # type: ignore[arg-type]
    assert (said(ada), Unread.objects.count()) == (["Well said."], 1)


@pytest.mark.parametrize("whom", ["https://bob.example/", "the site"])
def test_a_blocked_author_or_site_is_answered_the_same_and_dropped(
    ada: Reader, send: Send, server: FeedServer, source: str, page: str, whom: str
) -> None:
    url = server.url("/") if whom == "the site" else whom
    mute(reader=ada, channel=None, url=url, now=utcnow(), is_block=True)
    assert send(source, page).status_code == 202
    looked()
    assert not Entry.objects.exists()


def test_an_update_under_the_name_of_somebody_blocked_is_gone(
    ada: Reader, send: Send, server: FeedServer, source: str, page: str
) -> None:
    send(source, page)
    looked()
    mute(reader=ada, channel=None, url="https://eve.example/", now=utcnow(), is_block=True)
    server.serve("/reply", reply_to(page, author="https://eve.example/"), headers=HTML)
    send(source, page)
    looked(timedelta(minutes=2))
    assert said(ada) == []


def test_a_post_that_speaks_of_two_pages_is_shown_once(
    ada: Reader, send: Send, server: FeedServer, page: str
) -> None:
    body = reply_to(page, words=f"And <a href='{page}blogroll'>this</a>.")
    source = server.serve("/both", body, headers=HTML)
    send(source, page)
    send(source, f"{page}blogroll")
    assert looked() == 2
    assert said(ada) == ["And this."]


def test_a_page_that_names_an_address_elsewhere_stands_under_its_own(
    send: Send, server: FeedServer, page: str
) -> None:
    body = reply_to(page).replace('class="u-url" href=""', 'class="u-url" href="https://bank.example/"')
    source = server.serve("/false", body, headers=HTML)
    send(source, page)
    looked()
    jf2 = Entry.objects.get().jf2
    assert jf2
    assert jf2["url"] == source


def test_markup_of_strangers_is_cleaned(send: Send, server: FeedServer, page: str) -> None:
    evil = "<script>alert(1)</script><img src=x onerror=alert(1)><a href='javascript:alert(1)'>x</a>"
    send(server.serve("/evil", reply_to(page, words=evil), headers=HTML), page)
    looked()
    shown = str(Entry.objects.get().jf2)
    assert "onerror" not in shown
    assert "javascript:" not in shown
    assert "<script" not in shown


@NIGHTLY
def test_a_hundred_at_once_are_all_shown_once(
    ada: Reader, server: FeedServer, page: str, send: Send, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(receive, "OF_A_HOST", Limit("mention-by", 1_000))
    monkeypatch.setattr(receive, "TO_A_READER", Limit("mention-to", 1_000))
    for number in range(100):
        path = f"/reply/{number}"
        source = server.serve(path, reply_to(page, words=f"Reply {number}"), headers=HTML)
        for _ in range(2):
            assert send(source, page, ip=f"203.0.113.{number}").status_code == 202
    assert looked() == 100
    assert looked() == 0
    assert sorted(said(ada)) == sorted(f"Reply {number}" for number in range(100))
    assert len(server.requests) == 100
    assert MicrosubClient(ada).unread("notifications") == 100


@pytest.mark.slow
def test_a_network_a_host_and_a_reader_have_their_limits(send: Send, page: str) -> None:
    def answers(count: int, **changed: Callable[[int], str]) -> list[int]:
        usual = {"source": lambda n: f"https://h{n}.example/a", "ip": lambda n: f"198.51.100.{n}"}
        values = [{name: make(n) for name, make in {**usual, **changed}.items()} for n in range(count)]
        return [send(one["source"], one.get("target", page), ip=one["ip"]).status_code for one in values]

    assert answers(31, ip=lambda _: "203.0.113.9") == [202] * 30 + [429]
    assert answers(21, source=lambda n: f"https://one.example/{n}") == [202] * 20 + [429]
    # One connection has a whole /64.
    same = {"source": lambda n: f"https://f{n}.example/", "ip": lambda n: f"2001:db8::{n:x}"}
    assert answers(31, **same) == [202] * 30 + [429]
    # Eighty were sent to the same reader already; each has another target.
    assert answers(125, source=lambda n: f"https://g{n}.example/", target=lambda n: f"{page}?x={n}") == (
        [202] * 120 + [429] * 5
    )


def test_the_queue_is_bounded_and_a_known_pair_needs_no_room(
    send: Send, source: str, page: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(receive, "MOST_WAITING", 1)
    assert send(source, page).status_code == 202
    answer = send("https://other.example/a", page)
    assert (answer.status_code, answer.headers["Retry-After"]) == (429, "3600")
    assert send(source, page).status_code == 202


@pytest.mark.parametrize("status", [500, 503, 429])
def test_a_server_that_fails_is_asked_again_for_a_while(
    ada: Reader, send: Send, server: FeedServer, page: str, status: int
) -> None:
    source = server.serve("/reply", "", status=status)
    send(source, page)
    assert looked() == 1
    mention = Mention.objects.get()
    assert mention.due_at
    assert mention.due_at > utcnow()
    assert str(status) in mention.problem
    server.serve("/reply", reply_to(page), headers=HTML)
    assert looked(timedelta(minutes=3)) == 0
    assert looked(timedelta(minutes=6)) == 1
    assert said(ada) == ["Well said."]
    assert Mention.objects.get().problem == ""


def test_a_server_that_never_answers_is_given_up_and_what_it_said_before_stays(
    ada: Reader, send: Send, server: FeedServer, source: str, page: str
) -> None:
    send(source, page)
    looked()
    server.serve("/reply", "", status=503)
    send(source, page)
    later = timedelta(0)
    for _ in range(20):
        later += timedelta(days=1)
        looked(later)
    assert len(server.asked("/reply")) == 7
    assert Mention.objects.get().due_at is None
    assert said(ada) == ["Well said."]


@pytest.mark.parametrize("what", ["large", "slow", "loop"])
def test_a_source_is_bounded_in_size_time_and_redirects(
    send: Send, server: FeedServer, page: str, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reader.mentions.look.LOOK_SECONDS", 0.5)
    sources = {
        "large": lambda: server.serve("/x", reply_to(page) + " " * 1_100_000, headers=HTML),
        "slow": lambda: server.serve("/x", reply_to(page), headers=HTML, drip=0.2),
        "loop": lambda: server.redirect("/x", server.url("/x")),
    }
    send(sources[what](), page)
    assert looked() == 1
    assert not Entry.objects.exists()
    assert Mention.objects.get().problem


def test_a_redirect_of_the_source_is_followed(
    ada: Reader, send: Send, server: FeedServer, source: str, page: str
) -> None:
    send(server.redirect("/short", source), page)
    looked()
    assert said(ada) == ["Well said."]


@pytest.mark.parametrize(
    "address",
    [
        "http://127.0.0.1:{port}/reply",
        "http://localhost:{port}/reply",
        "http://[::1]:{port}/reply",
        "http://[::ffff:127.0.0.1]:{port}/reply",
        "http://0.0.0.0:{port}/reply",
        "http://2130706433:{port}/reply",
        "http://127.1:{port}/reply",
        "http://169.254.169.254/latest/meta-data/",
        "http://10.0.0.1/",
        "http://user@127.0.0.1:{port}/reply",
    ],
)
def test_no_private_address_is_asked(
    send: Send, server: FeedServer, source: str, page: str, settings: Any, address: str
) -> None:
    settings.ALLOW_PRIVATE_NETWORKS = []
    send(address.format(port=server.port), page)
    looked()
    assert server.requests == []
    assert not Entry.objects.exists()


def test_a_mention_that_is_named_anew_while_it_is_read_is_read_once_more(
    ada: Reader, send: Send, server: FeedServer, source: str, page: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = check.record_look

    def changed_meanwhile(**look: Any) -> None:
        server.serve("/reply", reply_to(page, words="Better said."), headers=HTML)
        send(source, page)
        record(**look)

    send(source, page)
    with monkeypatch.context() as patched:
        patched.setattr(check, "record_look", changed_meanwhile)
        looked()
    assert said(ada) == ["Well said."]
    assert looked(timedelta(minutes=2)) == 1
    assert said(ada) == ["Better said."]


def test_a_worker_that_died_leaves_its_mention_to_another(
    ada: Reader, send: Send, source: str, page: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    send(source, page)
    with monkeypatch.context() as patched:
        patched.setattr("reader.mentions.check._looked", _killed)
        with pytest.raises(KeyboardInterrupt):
            check_due()
    assert looked() == 0, "it is leased"
    assert looked(timedelta(minutes=2)) == 1
    assert said(ada) == ["Well said."]


def _killed(row: Mention) -> Any:
    raise KeyboardInterrupt


def test_what_was_no_mention_is_forgotten_after_a_month(
    send: Send, server: FeedServer, source: str, page: str
) -> None:
    send(server.serve("/x", "nothing", headers=HTML), page)
    send(source, page)
    looked()
    prune_entries(now=utcnow() + timedelta(days=20))
    assert Mention.objects.count() == 2
    prune_entries(now=utcnow() + timedelta(days=31))
    assert Mention.objects.get().source == source


def test_what_was_forgotten_does_not_come_back_as_new(
    ada: Reader, send: Send, source: str, page: str
) -> None:
    send(source, page)
    looked()
    prune_entries(now=utcnow() + NEVER_MORE)
    assert Entry.objects.get().jf2 is None
    Mention.objects.update(checked_at=utcnow() - timedelta(days=1))
    send(source, page)
    looked()
    assert (said(ada), Unread.objects.count()) == ([], 0)


def test_erasing_a_reader_erases_what_was_said_to_them(
    ada: Reader, send: Send, source: str, page: str
) -> None:
    send(source, page)
    looked()
    drop_reader(reader=ada, now=utcnow())
    assert (Mention.objects.count(), Entry.objects.count()) == (0, 0)


def test_the_pages_of_a_site_of_ones_own_count_once_it_is_proven(
    ada: Reader, send: Send, source: str
) -> None:
    post = "https://ada.example/2026/a-post"
    Reader.objects.update(me="https://ada.example/")
    assert send(source, post).status_code == 400
    Reader.objects.update(verified_at=NOW)
    assert send(source, post).status_code == 202


def test_the_same_pair_at_one_moment_is_one_row(
    transactional_db: None, ada: Reader, source: str, page: str
) -> None:
    def received() -> Mention:
        return receive.receive(reader=ada, source=source, target=page, asker="203.0.113.1", now=utcnow())

    one, two = beside(received, received)
    assert one.pk == two.pk


def test_two_workers_look_at_a_source_once(
    transactional_db: None, ada: Reader, send: Send, server: FeedServer, source: str, page: str
) -> None:
    send(source, page)
    rows, done = beside(
        lambda: check.claimed_mentions(utcnow()), check_due, blocks=connection.vendor == "sqlite"
    )
    assert (len(rows), done) == (1, 0)
    assert server.requests == []
