"""Letters as they would look now, for tests and previews: with the newest posts, or with made-up ones."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from delivery.models import Issue
from delivery.rendering import made_up
from delivery.rendering.issue import render_issue
from delivery.rendering.rendered import Rendered
from delivery.rendering.sources import Source
from delivery.services.facts import Collected, Post, issue_facts
from delivery.services.mails import mail_context, newsletter_mail
from delivery.services.sample_posts import sample_posts
from feeds.parsing.entry import Entry
from subscriptions.models import Subscribable

POSTS_IN_A_DIGEST = 5
ONE = ("issues/post", "issues/announcement")


class NothingToShow(ValueError):
    """The newsletter's feeds have no posts yet."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A rendered letter or mail, and the posts in it."""

    rendered: Rendered
    entries: tuple[Entry, ...] = ()
    is_made_up: bool = False


def sample(subscribable: Subscribable, *, now: datetime, count: int | None = None) -> Collected:
    """The newest posts of the newsletter's feeds as a collection. Raises NothingToShow."""
    wanted = count or usual_count(subscribable)
    posts = sample_posts(subscribable, wanted)
    if not posts:
        raise NothingToShow(
            "There is no post to show yet: its feeds were not read, are empty, or have none that it takes."
        )
    return _collection(subscribable, [post.entry for post in posts], now)


def usual_count(subscribable: Subscribable) -> int:
    """How many posts a letter of this newsletter is shown with."""
    if subscribable.arrangement == Subscribable.Arrangement.EACH:
        return 1
    return subscribable.n or POSTS_IN_A_DIGEST


def sample_of(subscribable: Subscribable, asked: Mapping[str, Any], *, now: datetime) -> Sample:
    """What a test delivery asks for: `template` is a name such as mails/welcome, empty for the letter as it
    is; `source` takes the place of what is kept. Raises NothingToShow and LetterError."""
    if asked.get("issue"):
        return stored_issue(int(asked["issue"]))
    name = str(asked.get("template", ""))
    source = Source(**asked["source"]) if asked.get("source") else None
    if name.startswith("mails/"):
        return sample_mail(subscribable, name, source, now=now)
    return sample_issue(subscribable, name, source, now=now)


def stored_issue(issue_id: int) -> Sample:
    """An issue as it goes out, or would."""
    issue = Issue.objects.get(pk=issue_id)
    rendered = Rendered(
        title=issue.title, subject=issue.subject, html=issue.html, text=issue.text, holes=issue.holes
    )
    rows = issue.issue_items.order_by("position")
    return Sample(rendered, tuple(Entry.from_json(row.entry) for row in rows))


def sample_issue(
    subscribable: Subscribable, name: str, source: Source | None, *, now: datetime, make_up: bool = False
) -> Sample:
    """The letter by that template, or by the one it would have. Raises NothingToShow unless it may `make_up`
    posts, and LetterError."""
    contents, is_made_up = _contents(subscribable, name, now, make_up=make_up)
    facts = issue_facts(contents, now=now)
    if name:
        facts = replace(facts, template=name.partition("/")[2])
    if source is not None:
        facts = replace(facts, own={name: source})
    return Sample(render_issue(facts), facts.entries, is_made_up)


def sample_mail(subscribable: Subscribable, name: str, source: Source | None, *, now: datetime) -> Sample:
    """A mail with links that lead nowhere. Raises LetterError."""
    template = name.partition("/")[2]
    context = mail_context(subscribable, template, now=now)
    return Sample(
        newsletter_mail(subscribable, template, context, language=subscribable.language, draft=source)
    )


def entries_to_show(
    subscribable: Subscribable, name: str, *, now: datetime
) -> tuple[tuple[Entry, ...], bool]:
    """Posts for that template, and whether they are made up."""
    contents, is_made_up = _contents(subscribable, name, now, make_up=True)
    return tuple(post.entry for post in contents.posts), is_made_up


def _contents(
    subscribable: Subscribable, name: str, now: datetime, *, make_up: bool
) -> tuple[Collected, bool]:
    count = 1 if name in ONE else None
    if name == "issues/digest" and usual_count(subscribable) == 1:
        count = POSTS_IN_A_DIGEST
    try:
        return sample(subscribable, now=now, count=count), False
    except NothingToShow:
        if not make_up:
            raise
    if name == "issues/announcement":
        return _collection(subscribable, [made_up.only_a_link(now=now)], now), True
    return _collection(subscribable, made_up.usual(now=now)[: count or usual_count(subscribable)], now), True


def _collection(subscribable: Subscribable, entries: Any, now: datetime) -> Collected:
    return Collected(
        subscribable=subscribable,
        within_type_id="sample",
        period_start=now,
        period_end=now,
        posts=tuple(Post(0, 0, entry) for entry in entries),
    )
