"""Responses that are believed only if they persist, unreachable hosts, and odd documents.

Another site's document, caches that alternate, truncated documents.
"""

import json
from collections.abc import Callable

import pytest

from tests.examples import some_now
from tests.feeds.histories.history import (
    DAY,
    HOUR,
    Change,
    History,
    Post,
    Stage,
    answer,
    at,
    document,
    fail,
    in_turn,
    post,
    posts,
    send,
    show,
)
from tests.servers.documents import atom
from tests.servers.feed_server import Reply, Request

PARKING = [post(f"ad{n}", 60 - 10 * n, guid=f"https://parking.example/{n}", link=None) for n in range(5)]
NEW = post("new", 10)
SELDOM = {"recheck_every_minutes": 60}
ONCE_A_DAY = {"recheck_every_minutes": DAY // 2, "ceiling_minutes": DAY // 2}
OLD = document("old")
BOTH = document("new", "old")
PROLOG = b'<!DOCTYPE rss [<!ENTITY nbsp "&#160;"><!ENTITY mark "<item>]>">]>'


def cached(body: bytes, tag: str = '"1"') -> Change:
    """Serve from a cache that answers 304 to every conditional request."""

    def reply(request: Request) -> Reply:
        return Reply(b"", 304) if "if-none-match" in request.headers else Reply(body, headers={"ETag": tag})

    return answer(reply)


def wall(body: bytes) -> Change:
    """Serve from a server that first requires its cookie."""

    def reply(request: Request) -> Reply:
        if "seen=yes" in request.headers.get("cookie", ""):
            return Reply(body)
        return Reply(b"", 302, {"Location": request.path, "Set-Cookie": "seen=yes"})

    return answer(reply)


def json_feed(*names: str) -> bytes:
    html = "<!DOCTYPE html><html><body><p>{} says it.</p></body></html>"
    items = [
        {"id": f"https://blog.example/{name}", "title": name, "content_html": html.format(name)}
        for name in names
    ]
    return json.dumps({"version": "https://jsonfeed.org/version/1.1", "items": items}).encode()


def only_ids(*names: str) -> bytes:
    """Return Atom whose entries have no links, and URLs as ids."""
    return atom([{"guid": f"https://blog.example/{name}", "title": name} for name in names])


HISTORIES = [
    History(
        "one 410 stops nothing, and the post that was settling is sent",
        [at(0, send(OLD)), at(20, send(BOTH)), at(50, fail(410)), at(55, send(BOTH))],
        mailed="new",
        health="active",
    ),
    History(
        "a 410 for half a day is not believed",
        [at(0, send(OLD)), at(60, fail(410)), at(13 * HOUR, send(BOTH))],
        hours=24,
        mailed="new",
        health="active",
    ),
    History(
        "a 410 that holds for more than a day is",
        [at(0, send(OLD)), at(60, fail(410))],
        hours=48,
        health="stopped",
        says="It is no longer read.",
    ),
    History(
        "what had stayed the same before the feed was gone is sent",
        [at(0, send(OLD)), at(15, send(BOTH)), at(45, fail(410))],
        hours=48,
        mailed="new",
        health="stopped",
    ),
    History(
        "what was seen once before the feed was gone is not",
        [at(0, send(OLD)), at(15, send(BOTH)), at(25, fail(410))],
        hours=48,
        waiting="new",
        health="stopped",
    ),
    History(
        "a 410 between other errors begins anew",
        [at(0, send(OLD)), *[at(60 + day * DAY / 2, fail(404 if day % 2 else 410)) for day in range(6)]],
        hours=72,
        health="failing",
    ),
    History(
        "not modified for ever is believed for eight days",
        [at(0, cached(OLD)), at(DAY, cached(BOTH))],
        hours=24 * 11,
        settings=ONCE_A_DAY,
        mailed="new",
        health="active",
    ),
    History(
        "not modified to who has asked for everything is an error",
        [at(0, cached(OLD)), at(DAY, fail(304))],
        hours=24 * 9,
        settings=ONCE_A_DAY,
        health="failing",
        says="HTTP 304",
    ),
    History(
        "a Retry-After of three months for an hour costs a day",
        [at(0, send(OLD)), at(60, fail(503, Retry_After="7776000")), at(120, send(BOTH))],
        hours=28,
        settings=SELDOM,
        mailed="new",
        health="active",
    ),
    History(
        "a Retry-After of three months that is repeated is kept to for longer",
        [at(0, send(OLD)), at(60, fail(503, Retry_After="7776000")), at(2 * DAY, send(BOTH))],
        hours=60,
        settings=SELDOM,
        health="failing",
    ),
    History(
        "down for three days, and back within the hour",
        [at(0, send(OLD)), at(60, fail(503)), at(3 * DAY, send(BOTH))],
        hours=75,
        settings=SELDOM,
        mailed="new",
        health="active",
    ),
    History(
        "an error of its own for three days is asked for once a day",
        [at(0, send(OLD)), at(60, fail(404)), at(3 * DAY, send(BOTH))],
        hours=24 * 5,
        settings=SELDOM,
        mailed="new",
        health="active",
    ),
    History(
        "a cookie that is wanted back",
        [at(0, wall(OLD)), at(20, wall(BOTH))],
        hours=2,
        mailed="new",
        health="active",
    ),
    History(
        "a wall of cookies is called by its name",
        [at(0, send(OLD)), at(20, fail(302, Location="/feed.xml", Set_Cookie="seen=1"))],
        hours=2,
        health="failing",
        says="a cookie wall, made for browsers",
    ),
    History(
        "JSON with html in its posts, under the ids of before",
        [at(0, send(OLD)), at(20, send(json_feed("new", "old"), headers={"Content-Type": "text/html"}))],
        hours=2,
        mailed="new",
        text={"new": "new says it."},
    ),
    History(
        "ids that are addresses",
        [at(0, send(only_ids("old"))), at(20, send(only_ids("new", "old")))],
        hours=2,
        mailed="new",
    ),
    History(
        "entities in a prolog that is thrown away",
        [at(0, send(PROLOG + OLD)), at(20, send(PROLOG + BOTH))],
        hours=2,
        mailed="new",
        health="active",
    ),
    History(
        "a time in the afternoon by a clock of twelve hours",
        [
            at(0, show(post("old", "May 6, 2026 09:00 AM"))),
            at(100, show(post("new", "May 6, 2026 01:30 PM"), post("old", "May 6, 2026 09:00 AM"))),
        ],
        hours=4,
        mailed="new",
    ),
    History(
        "titles that begin a thousand comments",
        [at(0, send(OLD)), at(20, show(post("new", title="new " + "<!--" * 2_000), "old"))],
        hours=2,
        mailed="new",
        health="active",
    ),
    History(
        "a feed that turns to UTF-16",
        [at(0, send(OLD)), at(20, send(BOTH.decode().replace("UTF-8", "UTF-16").encode("utf-16")))],
        hours=2,
        mailed="new",
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize("history", some_now(HISTORIES, every=5), ids=str)
def test_what_a_server_answers(history: History, play: Callable[[History], Stage]) -> None:
    play(history)


def dated(name: str) -> Post:
    return post(name, (int(name[1:]) - 102) * DAY)


OWN = posts(1, 10, dated)


def latest_day(day: int) -> list[Post]:
    """Return twenty posts of a day with two dates; one of the titles is the same every day."""
    times = (day * DAY - 30, day * DAY - 10 * HOUR)
    names = [f"chapter{day * 20 + n}" for n in range(19, 0, -1)]
    found = [post(name, times[n // 10]) for n, name in enumerate(names)]
    return [*found, post("Open", times[1], guid=f"thread {day}", link=f"https://blog.example/threads/{day}")]


WHOLE = document({**NEW, "content": "<p>new says this, and that, and more.</p>"}, *OWN[:9])
LAST = document(*OWN[5:], {**NEW, "content": "<p>new says this, and that, and more.</p>"})
STRANGER_HISTORIES = [
    History(
        "a document that breaks off in its first post, for three hours",
        [at(0, show(*OWN)), at(15, send(WHOLE[: WHOLE.index(b", and more")])), at(195, send(WHOLE))],
        hours=8,
        mailed="new",
        text={"new": "and more"},
    ),
    History(
        "a document that breaks off in its last post, with a guid of its own",
        [at(0, show(*OWN[5:])), at(15, send(LAST[: LAST.index(b", and more")])), at(75, send(LAST))],
        mailed="new",
        text={"new": "and more"},
    ),
    History(
        "a document that breaks off in a post that had been sent changes nothing",
        [at(0, show(*OWN)), at(15, send(WHOLE)), at(75, send(WHOLE[:-120])), at(135, send(WHOLE))],
        mailed="new",
    ),
    History(
        "another site's feed for one reading is not mailed",
        [at(0, show(*OWN)), at(4 * HOUR, show(*PARKING)), at(4 * HOUR + 10, show(*OWN))],
        hours=6,
        withdrawn="ad0 ad1 ad2 ad3 ad4",
        health="active",
    ),
    History(
        "another site's feed without dates for one reading",
        [at(0, show(*OWN)), at(55, show("ad1", "ad2")), at(65, show(*OWN))],
        withdrawn="ad1 ad2",
    ),
    History(
        "another site's feed for hours is held, and withdrawn when the feed is back",
        [at(0, show(*OWN)), at(4 * HOUR, show(*PARKING)), at(5 * HOUR, show(NEW, *OWN[:9]))],
        hours=7,
        mailed="new",
        withdrawn="ad0 ad1 ad2 ad3 ad4",
    ),
    History(
        "another site's feed that stays is held",
        [at(0, show(*OWN)), at(4 * HOUR, show(*PARKING))],
        hours=6,
        held="ad0 ad1 ad2 ad3 ad4",
        health="held",
        says="another site answers at its address",
    ),
    History(
        "the first post of a new installation, for an hour",
        [at(0, show(*OWN)), at(55, show(post("Hello", 50))), at(125, show(*OWN))],
        withdrawn="Hello",
    ),
    History(
        "other posts among the feed's own, for one reading",
        [at(0, show(*OWN)), at(55, show("ad", *OWN)), at(65, show(*OWN))],
        withdrawn="ad",
    ),
    History(
        "other posts in the place of the last ones, for one reading",
        [at(0, show(*OWN)), at(55, show(*OWN[:5], "ad1", "ad2")), at(65, show(*OWN))],
        withdrawn="ad1 ad2",
    ),
    History(
        "a feed that publishes more between two readings than it shows",
        [
            at(0, show(*(post(f"n{n}", n - 5) for n in range(4, -1, -1)))),
            *(
                at(read, show(*(post(f"n{n}", n - 5) for n in range(read + 4, read - 1, -1))))
                for read in range(10, 60, 10)
            ),
        ],
        mailed=[f"n{read + n}" for read in range(10, 60, 10) for n in range(5)],
    ),
    History(
        "a feed that shows its latest post only",
        [at(0, show("a")), at(15, show("b")), at(75, show("c"))],
        mailed="b c",
    ),
    History(
        "a feed that shows its latest post only, at fragments of one page",
        [
            at(0, show(post("a", guid="1", link="https://blog.example/today#1"))),
            at(15, show(post("b", guid="2", link="https://blog.example/today#2"))),
            at(75, show(post("c", guid="3", link="https://blog.example/today#3"))),
        ],
        mailed="b c",
    ),
    History(
        "a feed that shows only its latest day: twenty chapters in two groups, and an open thread",
        [at(day * DAY, show(*latest_day(day))) for day in range(4)],
        hours=4 * 24 - 2,
        mailed=[str(one["title"]) for day in (1, 2, 3) for one in latest_day(day)],
    ),
    History(
        "a feed that shows only its latest chapters, all of one date, at a link and title of their own",
        [
            at(day * DAY, show(*(post(f"c{day}.{n}", day * DAY - 20, guid=f"{day}/{n}") for n in range(5))))
            for day in range(4)
        ],
        hours=4 * 24 - 2,
        mailed=[f"c{day}.{n}" for day in (1, 2, 3) for n in range(5)],
    ),
    History(
        "two caches that answer in turn, one without the new post",
        [at(0, show(*OWN)), at(15, in_turn(document(NEW, *OWN[:9]), document(*OWN)))],
        hours=6,
        mailed="new",
        withdrawn="",
    ),
    History(
        "two caches that answer in turn with one post each",
        [at(0, show("old")), at(15, in_turn(document("new"), document("old")))],
        hours=6,
        mailed="new",
    ),
    History(
        "what comes and goes is told",
        [at(0, show(*OWN)), at(15, in_turn(document(NEW, *OWN[:9]), document(*OWN)))],
        hours=1.7,
        withdrawn=None,
        says="Posts disappear and return between readings",
    ),
    History(
        "a post that is withdrawn and comes back once is new again",
        [at(0, show(*OWN)), at(15, show(NEW, *OWN)), at(35, show(*OWN)), at(65, show(NEW, *OWN))],
        mailed="new",
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize("history", some_now(STRANGER_HISTORIES, every=5), ids=str)
def test_what_is_not_the_feeds_own(history: History, play: Callable[[History], Stage]) -> None:
    play(history)
