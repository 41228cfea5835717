"""Responses that are believed only if they persist, unreachable hosts, and odd documents."""

import json
from collections.abc import Callable

import pytest

from tests.examples import some_now
from tests.feeds.histories.history import (
    DAY,
    HOUR,
    Change,
    History,
    Stage,
    answer,
    at,
    document,
    fail,
    post,
    send,
    show,
)
from tests.servers.documents import atom
from tests.servers.feed_server import Reply, Request

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
