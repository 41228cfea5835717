"""A site that moves: no post is mailed again, and no new one is lost."""

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
    post,
    posts,
    show,
)
from tests.servers.feed_server import Reply, Request

Moving = Callable[[str], str]
OLD = "https://blog.example/"
UNDATED_UNHELD = ("to http", "to www", "to a slash at the end", "to addresses with .html")


def dated(name: str) -> Post:
    """Return one post a day until the adding: p1 was published 101 days before."""
    return post(name, (int(name[1:]) - 102) * DAY)


def moved(shown: list[Post], way: Moving) -> list[Post]:
    """Change every id and link by one rule."""
    return [{**one, "guid": way(one["guid"]), "link": way(one["link"])} for one in shown]


def to_another_domain(url: str) -> str:
    return url.replace("blog.example", "www.other.example")


WAYS: dict[str, Moving] = {
    "to another domain": to_another_domain,
    "to http": lambda url: url.replace("https:", "http:"),
    "to www": lambda url: url.replace("//", "//www."),
    "to a slash at the end": lambda url: f"{url}/",
    "to addresses with .html": lambda url: f"{url}.html",
    "to addresses with index.html": lambda url: f"{url}/index.html",
    "into a folder": lambda url: url.replace(".example/", ".example/blog/"),
    "to a query": lambda url: url.replace(".example/", ".example/?page="),
}


def move(way: Moving, made: Callable[[str], Post], count: int, *, tells: str, **expected: object) -> History:
    """Return a history: a feed moves after two of its posts were sent, and adds one more later."""
    before = posts(1, count, made)
    fresh = [post("fresh1", 5), post("fresh2", 8)]
    later = post("later", 130)
    return History(
        tells,
        [
            at(0, show(*before)),
            at(10, show(*fresh[::-1], *before[: count - 2])),
            at(75, show(*moved([*fresh[::-1], *before[: count - 2]], way))),
            at(135, show(*moved([later, *fresh[::-1], *before[: count - 3]], way))),
        ],
        hours=3.5,
        **{"mailed": "fresh1 fresh2 later", **expected},  # type: ignore[arg-type]
    )


HISTORIES = [
    *(move(way, dated, 10, tells=f"ten dated posts move {name}") for name, way in WAYS.items()),
    *(move(WAYS[name], post, 10, tells=f"ten posts without dates move {name}") for name in UNDATED_UNHELD),
    move(to_another_domain, post, 10, tells="ten posts without dates move to another domain"),
    move(to_another_domain, dated, 3, tells="three posts move to another domain"),
    move(to_another_domain, dated, 100, tells="a hundred posts move to another domain"),
    move(WAYS["to a slash at the end"], dated, 100, tells="a hundred posts get a slash"),
    History(
        "a feed of one post moves to another domain",
        [
            at(0, show(post("old", -HOUR))),
            at(15, show(post("new", 10))),
            at(80, show(*moved([post("new", 10)], to_another_domain))),
            at(135, show(*moved([post("later", 130)], to_another_domain))),
        ],
        hours=3.5,
        mailed="new later",
    ),
    History(
        "a move that nothing gives away is held, however few the posts are",
        [
            at(0, show("old")),
            at(15, show("new", "old")),
            at(3 * HOUR, show(post("Neu", guid="1", link=None), post("Alt", guid="2", link=None))),
        ],
        mailed="new",
        held="Neu Alt",
        health="held",
        says="None of its posts has a known id",
    ),
    History(
        "new dates do not make old titles new: the site was imported anew",
        [
            at(0, show(*posts(1, 5, dated))),
            at(3 * HOUR, show(*(post(f"p{n}", 170 + n, guid=f"{n}", link=None) for n in range(5, 0, -1)))),
        ],
        held="p1 p2 p3 p4 p5",
    ),
    History(
        "a move back again mails nothing either",
        [
            at(0, show(*posts(1, 6, dated))),
            at(15, show(post("new", 10), *posts(2, 6, dated))),
            at(2 * HOUR, show(*moved([post("new", 10), *posts(2, 6, dated)], to_another_domain))),
            at(4 * HOUR, show(post("new", 10), *posts(2, 6, dated))),
        ],
        hours=8,
        mailed="new",
    ),
    History(
        "a post that waits while the site moves goes out once",
        [
            at(0, show(*posts(1, 6, dated))),
            at(15, show(post("new", 10), *posts(2, 6, dated))),
            at(35, show(*moved([post("new", 10), *posts(2, 6, dated)], to_another_domain))),
        ],
        mailed="new",
    ),
    History(
        "a new post that comes with the move goes out, and only that",
        [
            at(0, show(*posts(1, 6, dated))),
            at(3 * HOUR, show(*moved([post("new", 2 * HOUR), *posts(1, 6, dated)], to_another_domain))),
        ],
        mailed="new",
    ),
    History(
        "only the ids change, the links stay",
        [
            at(0, show("a", "b", "c")),
            at(15, show("new", "a", "b", "c")),
            at(3 * HOUR, show(*({**post(name), "guid": f"urn:{name}"} for name in ("new", "a", "b", "c")))),
        ],
        mailed="new",
    ),
    History(
        "the same titles again and again are no reposts: their dates differ",
        [
            at(0, show(post("Weekly", -10 * HOUR, guid="1", link=f"{OLD}1"), "old")),
            at(HOUR, show(post("Weekly", HOUR, guid="2", link=f"{OLD}2"), "old")),
            at(2 * HOUR, show(post("Weekly", 2 * HOUR, guid="3", link=f"{OLD}3"), "old")),
        ],
        hours=4,
        mailed="Weekly Weekly",
    ),
]

HISTORIES += [
    History(
        "a post whose address changes with its date, by a day, goes out once",
        [
            at(0, show(*posts(1, 6, dated))),
            at(15, show(post("new", 10, title="new words on an old archive"), *posts(1, 5, dated))),
            at(2 * HOUR, show(post("later", 110), post("new", 10, title="new words on an old archive"))),
            at(
                6 * HOUR,
                show(
                    post("later", 110),
                    post(
                        "new-2", 10 - DAY, title="new words on an old archive", content="<p>new says it.</p>"
                    ),
                    *posts(1, 4, dated),
                ),
            ),
        ],
        hours=10,
        mailed="new later",
    )
]


def made_up(made: Callable[[str], Post], count: int, new_at: int | None = None) -> Change:
    """Serve ids and links with a session per response; from a given request on, a new post is first."""
    asked = iter(range(10_000))

    def reply(request: Request) -> Reply:
        number = next(asked)
        shown = posts(1, count, made)
        if new_at is not None and number >= new_at:
            shown = [post("new", new_at * 10), *shown]
        return Reply(document(*moved(shown, lambda url: f"{url}?sid={number}")))

    return answer(reply)


HISTORIES += [
    History(
        f"{count} posts whose ids and links change with each reading are never mailed twice",
        [at(0, made_up(dated, count, new_at=6))],
        hours=5,
        mailed="new",
        says="Posts keep getting new ids",
    )
    for count in (1, 2, 10, 12, 30)
]
HISTORIES += [
    History(
        "posts without dates whose ids change with each reading are never mailed twice",
        [at(0, made_up(post, 10, new_at=6))],
        hours=5,
        mailed="new",
    ),
    History(
        "ids that change with each deploy, every three hours, are never mailed twice",
        [
            at(0, show(*posts(1, 10, dated))),
            at(60, show(post("new", 50), *posts(2, 10, dated))),
            *(
                at(
                    deploy * 3 * HOUR,
                    show(
                        *moved(
                            [post("new", 50), *posts(2, 10, dated)],
                            lambda url, deploy=deploy: f"{url}?v={deploy}",  # type: ignore[misc]
                        )
                    ),
                )
                for deploy in (1, 2, 3, 4)
            ),
        ],
        hours=14,
        mailed="new",
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize("history", some_now(HISTORIES, every=8), ids=str)
def test_a_site_that_moves(history: History, play: Callable[[History], Stage]) -> None:
    play(history)
