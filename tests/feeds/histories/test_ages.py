"""No new post is skipped as older than the feed; truly old posts are excluded, with a message.

An ordinary feed: each post is sent once, when it has settled.
"""

from collections.abc import Callable
from datetime import timedelta
from email.utils import format_datetime
from itertools import count

import pytest

from tests.examples import some_now
from tests.feeds.histories.history import (
    ADDED,
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
    minute,
    post,
    posts,
    send,
    show,
)
from tests.servers.documents import atom
from tests.servers.feed_server import Reply, Request

HISTORIES = [
    History(
        "a post is sent once, and what was there at the adding is not",
        [at(0, show("old")), at(15, show("new", "old"))],
        mailed="new",
        excluded="old",
    ),
    History(
        "a post that is withdrawn at once is not sent",
        [at(0, show("old")), at(15, show("new", "old")), at(35, show("old"))],
        withdrawn="new",
    ),
    History(
        "a post that is withdrawn while its daily issue is collected is not sent, and is new when it is back",
        [
            at(0, show("old")),
            at(15, show("b", "a", "old")),
            at(2 * HOUR, show("a", "old")),
            at(3 * HOUR, show("c", "a", "old")),
            at(4 * HOUR, show("c", "old")),
            at(4 * HOUR + 10, show("c", "a", "old")),
            at(15 * HOUR, show("b", "c", "a", "old")),
        ],
        hours=40,
        newsletter={"arrangement": "daily", "time_zone": "UTC"},
        mailed="c a b",
    ),
    History(
        "an error page, an empty feed and an outage neither lose nor double a post",
        [
            at(0, show("old")),
            at(15, show("new", "old")),
            at(25, fail(503)),
            at(65, show()),
            at(95, send(b"<html><body>Maintenance</body></html>", headers={"Content-Type": "text/html"})),
            at(145, show("newer", "new", "old")),
        ],
        mailed="new newer",
    ),
    History(
        "a cache that answers with yesterday's document for a while sends nothing twice",
        [
            at(0, show("old")),
            at(15, show("new", "old")),
            at(75, show("old")),
            at(135, show("newer", "new", "old")),
        ],
        mailed="new newer",
    ),
]


def aged(name: str) -> Post:
    """Return a post: p1 was published twenty days before the adding, p2 nineteen, …"""
    return post(name, (int(name[1:]) - 21) * DAY)


def on_the_day(days: int) -> str:
    """Return a date without time, as many generators write it."""
    return f"{ADDED + timedelta(days=days):%Y-%m-%d}"


def midnight(days: int) -> str:
    return f"{ADDED + timedelta(days=days):%a, %d %b %Y} 00:00:00 +0000"


def with_clock(behind: float, shown: Callable[[float], list[Post]]) -> Change:
    """Serve from a clock that is so many minutes behind ours; `shown` is called with our minute."""
    minutes = count(0, 10)

    def reply(request: Request) -> Reply:
        now = next(minutes)
        date = format_datetime(minute(now - behind), usegmt=True)
        return Reply(document(*shown(now)), headers={"Date": date})

    return answer(reply)


OLD = [aged("p5"), aged("p4"), aged("p3")]
SENT = [
    History(
        "a new post with a date of today and no time",
        [at(0, show(*OLD)), at(15, show(post("new", on_the_day(0)), *OLD))],
        mailed="new",
    ),
    History(
        "a new post dated today at midnight",
        [at(0, show(*OLD)), at(15, show(post("new", midnight(0)), *OLD))],
        mailed="new",
    ),
    History(
        "a new post between others of the same day, in no order",
        [
            at(0, show(post("a", midnight(0)), post("b", midnight(0)), *OLD)),
            at(15, show(post("a", midnight(0)), post("new", midnight(0)), post("b", midnight(0)), *OLD)),
        ],
        mailed="new",
    ),
    History(
        "a new post dated by its month",
        [
            at(0, show(post("a", "2026-05-01"), post("b", "2026-04-01"))),
            at(15, show(post("new", "2026-05-01"), post("a", "2026-05-01"), post("b", "2026-04-01"))),
        ],
        mailed="new",
    ),
    History(
        "a local time without its zone, hours behind UTC",
        [at(0, show(*OLD)), at(15, show(*OLD[:1], post("new", "Wed, 06 May 2026 07:10:00"), *OLD[1:]))],
        mailed="new",
    ),
    History(
        "a draft begun last week, at the new end",
        [at(0, show(*OLD)), at(15, show(post("new", -7 * DAY), *OLD))],
        mailed="new",
    ),
    History(
        "a draft begun last week, below a pinned post",
        [
            at(0, show(post("pinned", -90 * DAY), *OLD)),
            at(15, show(post("pinned", -90 * DAY), post("new", -7 * DAY), *OLD)),
        ],
        mailed="new",
    ),
    History(
        "a draft begun last week, in a feed that stands oldest first",
        [at(0, show(*OLD[::-1])), at(15, show(*OLD[::-1], post("new", -3 * HOUR)))],
        mailed="new",
    ),
    History(
        "one date for all posts",
        [
            at(0, show(*(post(name, -9 * DAY) for name in "abc"))),
            at(15, show(*(post(name, -9 * DAY) for name in ("new", "a", "b", "c")))),
            at(75, show(*(post(name, -9 * DAY) for name in ("newer", "new", "a", "b", "c")))),
        ],
        mailed="new newer",
    ),
    History(
        "one date for all posts, that of the build, which is before the adding",
        [
            at(0, show(*(post(name, -60) for name in "abc"))),
            at(15, show(*(post(name, -50) for name in ("a", "new", "b", "c")))),
        ],
        mailed="new",
    ),
    History(
        "dates of a clock that was never set",
        [
            at(0, show(post("a", "Sat, 01 Jan 2000 00:00:00 GMT"), post("b", -3 * DAY))),
            at(
                15,
                show(
                    post("a", "Sat, 01 Jan 2000 00:00:00 GMT"),
                    post("new", "Sat, 01 Jan 2000 00:00:00 GMT"),
                    post("b", -3 * DAY),
                ),
            ),
        ],
        mailed="new",
    ),
    History(
        "a server whose clock is a day behind",
        [
            at(
                0,
                with_clock(
                    DAY,
                    lambda now: [
                        *([post("a", -2 * HOUR)]),
                        *([post("new", 20 - DAY)] if now >= 20 else []),
                        post("b", -5 * DAY),
                    ],
                ),
            )
        ],
        mailed="new",
    ),
    History(
        "a post dated years ahead neither waits nor hides what comes after it",
        [
            at(0, show(post("event", 900 * DAY), *OLD)),
            at(15, show(post("fair", 400 * DAY), post("event", 900 * DAY), post("new", -3 * DAY), *OLD)),
        ],
        mailed="fair new",
    ),
    History(
        "a feed that was down when it was added sends what came after the adding",
        [at(0, fail(503)), at(200, show(post("new", 120), *OLD))],
        hours=8,
        mailed="new",
        excluded="p5 p4 p3",
    ),
    History(
        "and of the day of the adding only what is surely later",
        [at(0, fail(503)), at(200, show(post("new", 120), post("today", midnight(0)), *OLD))],
        hours=8,
        mailed="new",
        excluded="today p5 p4 p3",
    ),
    History(
        "events to come that are there at the adding are not new",
        [
            at(0, show(post("fair", 30 * DAY), *OLD)),
            at(15, show(post("new", 10), post("fair", 30 * DAY), *OLD)),
        ],
        mailed="new",
        excluded="fair p5 p4 p3",
    ),
    History(
        "an entry of Atom that was begun long before it was published",
        [
            at(0, show(*OLD, form=atom)),
            at(15, show(post("new", -20 * DAY, updated=minute(12)), *OLD, form=atom)),
        ],
        mailed="new",
    ),
    History(
        "posts without any date",
        [at(0, show("a", "b")), at(15, show("new", "a", "b")), at(75, show("newer", "new", "a", "b"))],
        mailed="new newer",
    ),
]
LEFT_OUT = [
    History(
        "a generator that goes deeper",
        [
            at(0, show(*posts(11, 20, aged))),
            at(15, show(*posts(6, 20, aged))),
            at(75, show(*posts(1, 20, aged))),
        ],
        says="10 posts are left out because they are older",
    ),
    History(
        "a generator that goes far deeper, with a new post at the same time, which is held with the flood",
        [at(0, show(*posts(16, 20, aged))), at(15, show(post("new", 10), *posts(1, 20, aged)))],
        held="new",
    ),
    History(
        "one post is deleted and an older one takes its place at the end",
        [at(0, show(*posts(11, 20, aged))), at(15, show(*posts(10, 19, aged)))],
        says="1 post is left out",
    ),
    History(
        "an old post that surfaces inside",
        [at(0, show(aged("p9"), aged("p7"))), at(15, show(aged("p9"), aged("p8"), aged("p7")))],
        says="“p8”",
    ),
    History(
        "a very old post that is put on top again",
        [at(0, show(*OLD)), at(15, show(post("bumped", -400 * DAY), *OLD))],
        says="“bumped”",
    ),
    History(
        "old posts of yesterday without a time",
        [
            at(0, show(post("a", on_the_day(-1)), post("c", on_the_day(-4)))),
            at(15, show(post("a", on_the_day(-1)), post("b", on_the_day(-3)), post("c", on_the_day(-4)))),
        ],
        says="“b”",
    ),
    History(
        "nothing is said of a feed that left nothing out",
        [at(0, show(*OLD)), at(15, send(document(post("new", 10), *OLD)))],
        mailed="new",
        never_says="left out",
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize("history", some_now(SENT, every=5), ids=str)
def test_it_is_sent(history: History, play: Callable[[History], Stage]) -> None:
    play(history)


@pytest.mark.slow
@pytest.mark.parametrize("history", some_now(LEFT_OUT, every=3), ids=str)
def test_it_is_left_out_and_told(history: History, play: Callable[[History], Stage]) -> None:
    play(history)


@pytest.mark.slow
@pytest.mark.parametrize("history", some_now(HISTORIES), ids=str)
def test_a_feed_that_settles(history: History, play: Callable[[History], object]) -> None:
    play(history)
