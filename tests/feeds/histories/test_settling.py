"""An ordinary feed: each post is sent once, when it has settled."""

from collections.abc import Callable

import pytest

from tests.examples import some_now
from tests.feeds.histories.history import HOUR, History, at, fail, send, show

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


@pytest.mark.slow
@pytest.mark.parametrize("history", some_now(HISTORIES), ids=str)
def test_a_feed_that_settles(history: History, play: Callable[[History], object]) -> None:
    play(history)
