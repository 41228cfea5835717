"""Letters as they would look now, with the newest or made-up posts, for tests and previews."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from channels.letter import LetterError
from common.ports.hooks import HookError
from common.refused import Refused
from delivery.issues.broadcasts import LetterText, make_letter
from delivery.issues.contents import Collected, arranged, collected, issue_facts
from delivery.issues.corrected import with_corrections
from delivery.letters.pages import mail_context, newsletter_mail
from delivery.models import Issue
from delivery.rendering import library
from delivery.rendering.errors import Rendered
from delivery.rendering.facts import TemplateSource, ThemeFacts
from delivery.rendering.issue import render_issue
from delivery.rules.posts import Post, announced
from feeds.items.held import present_entries
from feeds.parsing.entry import Entry
from subscriptions.collections.edits import next_collection, settling
from subscriptions.collections.post_rules import verdict
from subscriptions.models import Assignable, Subscribable
from subscriptions.rules.post_rules import judge

POSTS_IN_A_DIGEST = 5
MOST_SETTLING = 50


def sample_posts(subscribable: Subscribable, count: int) -> tuple[Post, ...]:
    """Return up to `count` newest posts. Raises LetterError if own code fails."""
    newest = newest_posts(subscribable, count)
    return arranged(subscribable, newest).posts or tuple(newest)


def newest_posts(subscribable: Subscribable, count: int) -> list[Post]:
    """Return them as in the feeds, newest first."""
    posts = []
    for feed in subscribable.feeds.all():
        # The newsletter may skip some.
        for entry in present_entries(feed, max(count, 20)):
            try:
                is_taken = verdict(subscribable, entry, feed=feed).is_kept
            except HookError as error:
                raise LetterError(str(error)) from error
            if is_taken:
                posts.append(Post(0, 0, entry, feed.url))
    posts.sort(key=lambda post: post.entry.published.timestamp() if post.entry.published else 0, reverse=True)
    # If publishers ask for no announcements, still show something.
    return (announced(posts) or posts)[:count]


def being_collected(subscribable: Subscribable, *, now: datetime) -> Collected | None:
    """Return the next issue so far, or None if empty. Raises LetterError."""
    collection = next_collection(subscribable)
    if collection is not None:
        try:
            contents = with_corrections(collected(collection), now=now)
        except ValueError as error:
            if isinstance(error, LetterError):
                raise
            # It became an issue meanwhile.
            contents = None
        return contents if contents and contents.posts else None
    if subscribable.arrangement != Subscribable.Arrangement.EACH:
        return None
    # Each post is sent alone: take the one that has been settling longest.
    waiting = [item for item, is_out in settling(subscribable, MOST_SETTLING).items() if not is_out]
    entries = [Entry.from_json(item.entry) for item in reversed(waiting) if item.entry is not None]
    taken = [entry for entry in entries if judge(entry, subscribable.active_rules).is_kept]
    done = arranged(subscribable, [Post(0, 0, entry) for entry in taken[:1]])
    return replace(_collection(subscribable, [], now), posts=done.posts) if done.posts else None


def is_collecting(subscribable: Subscribable, *, now: datetime) -> bool:
    """Return whether a sample shows the collection rather than the newest posts."""
    try:
        return being_collected(subscribable, now=now) is not None
    except LetterError:
        return False


class NothingToShow(Refused):
    """The newsletter's feeds have no posts yet."""


@dataclass(frozen=True, slots=True)
class Sample:
    rendered: Rendered | Issue
    entries: tuple[Entry, ...] = ()
    is_made_up: bool = False


def sample(subscribable: Subscribable, *, now: datetime, count: int | None = None) -> Collected:
    """Return the collection, or else the feeds' newest posts. Raises NothingToShow."""
    if contents := being_collected(subscribable, now=now):
        return replace(contents, posts=contents.posts[:1]) if count == 1 else contents
    wanted = count or usual_count(subscribable)
    posts = sample_posts(subscribable, wanted)
    if not posts:
        raise NothingToShow(
            "There is no post to show yet: its feeds were not read, are empty, or have none that it takes."
        )
    return _collection(subscribable, [post.entry for post in posts], now)


def usual_count(subscribable: Subscribable) -> int:
    if subscribable.arrangement == Subscribable.Arrangement.EACH:
        return 1
    return subscribable.n or POSTS_IN_A_DIGEST


def sample_of(subscribable: Subscribable, asked: Mapping[str, Any], *, now: datetime) -> Sample:
    """Render a test delivery's sample. Raises NothingToShow and LetterError.

    By key: `issue` or `collection`. `nth` counts back from the newest post; `written` is a broadcast's text.
    Otherwise `template` is a name such as mails/welcome, or empty for the letter, and `source` replaces the
    stored template.
    """
    if asked.get("collection"):
        row = Assignable.objects.select_related("subscribable").filter(pk=int(asked["collection"])).first()
        if row is not None and (contents := with_corrections(collected(row), now=now)).posts:
            facts = issue_facts(contents, now=now)
            return Sample(render_issue(facts), facts.entries)
    if asked.get("issue"):
        issue = Issue.objects.get(pk=int(asked["issue"]))
        rows = issue.issue_items.order_by("position")
        return Sample(issue, tuple(Entry.from_json(row.entry) for row in rows))
    if asked.get("nth"):
        newest = newest_posts(subscribable, int(asked["nth"]) + 1)[-1:]
        if not newest:
            raise NothingToShow("There is no post to show any more.")
        facts = issue_facts(_collection(subscribable, [post.entry for post in newest], now), now=now)
        return Sample(render_issue(facts), facts.entries)
    if asked.get("written"):
        return sample_written(subscribable, LetterText(**asked["written"]), now=now)
    name = str(asked.get("template", ""))
    source = TemplateSource(**asked["source"]) if asked.get("source") else None
    if name.startswith("mails/"):
        return sample_mail(subscribable, name, source, now=now)
    return sample_issue(subscribable, name, source, now=now)


def sample_issue(
    subscribable: Subscribable,
    name: str,
    source: TemplateSource | None,
    *,
    now: datetime,
    make_up: bool = False,
    theme: ThemeFacts | None = None,
) -> Sample:
    """Render the letter with the template `name` and `theme`, or with the newsletter's own.

    Raises LetterError, and NothingToShow without posts unless `make_up`.
    """
    contents, is_made_up = _contents(subscribable, name, now, make_up=make_up)
    facts = issue_facts(contents, now=now)
    if name:
        facts = replace(facts, template=name.partition("/")[2])
    if source is not None:
        facts = replace(facts, own={name: source})
    if theme is not None:
        facts = replace(facts, theme=theme)
    return Sample(render_issue(facts), facts.entries, is_made_up)


def sample_written(subscribable: Subscribable, text: LetterText, *, now: datetime) -> Sample:
    """Render a broadcast. Raises LetterError."""
    rendered, entry = make_letter(subscribable, text, now=now)
    # Without a subject so far, show none.
    subject = rendered.subject if text.subject else ""
    return Sample(replace(rendered, subject=subject), (entry,))


def sample_mail(
    subscribable: Subscribable, name: str, source: TemplateSource | None, *, now: datetime
) -> Sample:
    """Render a mail with dead links. Raises LetterError."""
    template = name.partition("/")[2]
    context = mail_context(subscribable, template, now=now)
    return Sample(
        newsletter_mail(subscribable, template, context, language=subscribable.language, draft=source)
    )


def entries_to_show(
    subscribable: Subscribable, name: str, *, now: datetime
) -> tuple[tuple[Entry, ...], bool]:
    """Return posts for the template, and whether they are made up."""
    contents, is_made_up = _contents(subscribable, name, now, make_up=True)
    return tuple(post.entry for post in contents.posts), is_made_up


def _contents(
    subscribable: Subscribable, name: str, now: datetime, *, make_up: bool
) -> tuple[Collected, bool]:
    count = 1 if name in ("issues/post", "issues/announcement") else None
    if name == "issues/digest" and usual_count(subscribable) == 1:
        count = POSTS_IN_A_DIGEST
    try:
        return sample(subscribable, now=now, count=count), False
    except NothingToShow:
        if not make_up:
            raise
    if name == "issues/announcement":
        return _collection(subscribable, [library.only_a_link(now=now)], now), True
    entries = library.usual(now=now)[: count or usual_count(subscribable)]
    return _collection(subscribable, entries, now), True


def _collection(subscribable: Subscribable, entries: Any, now: datetime) -> Collected:
    return Collected(
        subscribable=subscribable,
        within_type_id="sample",
        period_start=now,
        period_end=now,
        posts=tuple(Post(0, 0, entry) for entry in entries),
    )
