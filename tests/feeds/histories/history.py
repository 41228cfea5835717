"""A feed's history as a table: its server's responses by minute, and the expected result.

History(
"a post that is withdrawn at once is not sent",
[at(0, show("old")), at(20, show("new", "old")), at(30, show("old"))],
withdrawn="new",
)

The real services (poll, assign, complete) play it on a virtual clock that jumps to the feed's next reading or
the next scene. Nothing sleeps. A post is named by the first word of its title, or of its text if it has no
title; a document's posts are newest first.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from common.html.clean import plain
from delivery.issues.complete import complete_due
from delivery.models import IssueItem
from feeds.adding.add import add_feed
from feeds.models import Feed, Item
from feeds.polling.poll import poll_due
from subscriptions.collections.assign import assign_final
from subscriptions.newsletters.define import define_subscribable
from tests.servers.documents import rss
from tests.servers.feed_server import FeedServer, Reply, Request

ADDED = datetime(2026, 5, 6, 12, tzinfo=UTC)
PATH = "/feed.xml"
HOUR = 60
DAY = 24 * HOUR
MOST_READINGS = 1_000

Names = str | Iterable[str]
Post = dict[str, Any]


def minute(count: float) -> datetime:
    """Return the time so many minutes after the feed was added."""
    return ADDED + timedelta(minutes=count)


@dataclass
class Stage:
    """Objects that a scene may change: the server, and the feed as an admin may."""

    server: FeedServer
    feed: Feed
    now: datetime = ADDED


Change = Callable[[Stage], object]


@dataclass(frozen=True, slots=True)
class Scene:
    minute: float
    change: Change


def at(minute: float, change: Change) -> Scene:
    """Return a scene from this minute on, counted from the adding."""
    return Scene(minute, change)


def post(name: str, published: object = None, **changes: Any) -> Post:
    """Return a post of that name. `published`: a minute (of the feed's time), a literal text, or None."""
    link = f"https://blog.example/{name}"
    found = {"guid": link, "link": link, "title": name, "content": f"<p>{name} says it.</p>", **changes}
    if isinstance(published, int | float):
        published = minute(published)
    if published is not None:
        found["published"] = published
    return {key: value for key, value in found.items() if value is not None}


def posts(first: int, last: int, made: Callable[[str], Post] = post) -> list[Post]:
    """Return posts p{last} to p{first}: newest first."""
    return [made(f"p{number}") for number in range(last, first - 1, -1)]


def document(*shown: Post | str, form: Callable[..., bytes] = rss, **channel: Any) -> bytes:
    """Return a document of the posts, newest first; a string is the name of a post."""
    return form([post(one) if isinstance(one, str) else one for one in shown], **channel)


def show(
    *shown: Post | str, path: str = PATH, headers: Mapping[str, str] | None = None, **channel: Any
) -> Change:
    """Publish these posts in the feed."""
    return send(document(*shown, **channel), path=path, headers=headers)


def send(
    body: bytes | str, *, status: int = 200, path: str = PATH, headers: Mapping[str, str] | None = None
) -> Change:
    """Serve this response."""
    return lambda stage: stage.server.serve(path, body, status=status, headers=headers)


def fail(status: int, **headers: str) -> Change:
    """Serve an error; headers have underscores for hyphens."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return send(b"", status=status, headers=named)


def answer(reply: Callable[[Request], Reply], path: str = PATH) -> Change:
    """Serve responses by a function of the request."""
    return lambda stage: stage.server.answer(path, reply)


def in_turn(*bodies: bytes) -> Change:
    """Serve one of these at each request, as with two caches or ids that change each time."""
    asked = iter(range(MOST_READINGS * 2))
    return answer(lambda request: Reply(bodies[next(asked) % len(bodies)]))


def redirect(to: str, status: int = 301) -> Change:
    return lambda stage: stage.server.redirect(PATH, stage.server.url(to), status)


def named(names: Names) -> Counter[str]:
    return Counter(names.split() if isinstance(names, str) else names)


@dataclass(frozen=True)
class History:
    """Scenes, and the expected result. `mailed`: each sent post, by name.

    `held`, `withdrawn`, `excluded` and `waiting` are names, too; None skips the check. `says` must occur in
    the feed's messages, `never_says` must not; `text`: name → text that the sent post must contain.
    """

    tells: str
    scenes: Sequence[Scene]
    hours: float = 4
    settings: Mapping[str, Any] = field(default_factory=dict)
    mailed: Names = ""
    held: Names | None = ""
    withdrawn: Names | None = None
    excluded: Names | None = None
    waiting: Names | None = None
    health: str = ""
    says: str = ""
    never_says: str = ""
    text: Mapping[str, str] = field(default_factory=dict)
    # Options of the newsletter; by default each post is an issue.
    newsletter: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.tells


def play(history: History, server: FeedServer) -> Stage:
    """Play the history and check the result."""
    feed = add_feed(url=server.url(PATH), now=ADDED, **history.settings)
    define_subscribable(name="each", feeds=[feed], **history.newsletter)
    stage = Stage(server, feed)
    run(stage, history)
    check(history, feed)
    return stage


def run(stage: Stage, history: History) -> None:
    scenes = sorted(history.scenes, key=lambda scene: scene.minute)
    end = minute(history.hours * HOUR)
    for _ in range(MOST_READINGS):
        if stage.now > end:
            return
        while scenes and minute(scenes[0].minute) <= stage.now:
            scenes.pop(0).change(stage)
            stage.feed.refresh_from_db()
        poll_due(clock=lambda: stage.now)
        if assign_final(clock=lambda: stage.now) or history.newsletter:
            complete_due(clock=lambda: stage.now)
        stage.feed.refresh_from_db()
        stage.now = min(_next_moments(stage, scenes), default=end + timedelta(minutes=1))
    raise AssertionError("more readings than a history should have: give it a longer interval")


def _next_moments(stage: Stage, scenes: Sequence[Scene]) -> list[datetime]:
    moments = [minute(scene.minute) for scene in scenes[:1]]
    if stage.feed.status == Feed.Status.ACTIVE:
        moments.append(max(stage.feed.next_poll_at, stage.now + timedelta(seconds=1)))
    return moments


def check(history: History, feed: Feed) -> None:
    items = list(Item.objects.filter(feed=feed))
    mailed = list(IssueItem.objects.order_by("issue", "position").values_list("entry", flat=True))
    groups = {
        "held": [item for item in items if item.held_at and not item.vanished_at],
        "withdrawn": [item for item in items if item.vanished_at and item.state == "unassigned"],
        "excluded": [item for item in items if item.state == "excluded"],
        "waiting": [item for item in items if item.state == "unassigned" and not item.vanished_at],
    }
    found = {"mailed": Counter(map(_name_of_entry, mailed))}
    found |= {word: Counter(map(_name, group)) for word, group in groups.items()}
    wanted = {word: getattr(history, word) for word in found}
    for word, names in wanted.items():
        if names is not None:
            assert found[word] == named(names), f"{word}: {dict(found[word])}, not {dict(named(names))}"
    said = f"{feed.warning}\n{feed.last_error}"
    assert history.says in said, f"it says {said!r}"
    assert not history.never_says or history.never_says not in said
    assert history.health in ("", feed.health)
    for name, words in history.text.items():
        (entry,) = (entry for entry in mailed if _name_of_entry(entry) == name)
        assert words in (entry["content"] or entry["summary"])


def _name(item: Item) -> str:
    text = item.title or plain(str((item.entry or {}).get("content") or ""))
    return (text or item.guid).split(" ")[0]


def _name_of_entry(entry: Mapping[str, Any]) -> str:
    return str(entry["title"] or plain(entry["content"] or entry["summary"])).split(" ")[0]
