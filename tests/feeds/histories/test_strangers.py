"""Another site's document, caches that alternate, truncated documents."""

from collections.abc import Callable

import pytest

from tests.examples import some_now
from tests.feeds.histories.history import (
    DAY,
    HOUR,
    History,
    Post,
    Stage,
    at,
    document,
    in_turn,
    post,
    posts,
    send,
    show,
)

PARKING = [post(f"ad{n}", 60 - 10 * n, guid=f"https://parking.example/{n}", link=None) for n in range(5)]
NEW = post("new", 10)


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

HISTORIES = [
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
@pytest.mark.parametrize("history", some_now(HISTORIES, every=5), ids=str)
def test_what_is_not_the_feeds_own(history: History, play: Callable[[History], Stage]) -> None:
    play(history)
