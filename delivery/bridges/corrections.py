"""Edit or delete posts after a correction or withdrawal, which polls report (feeds.items.alerts).

Each sent post gets a delivery for it, in its own lane. A post still being sent stays as it is, as its service
may recognize it by its words, and is changed afterwards.

Contents of edits and deletions of posts.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import QuerySet

from channels import channel
from channels.letter import Letter, Recipient
from channels.rules.corrections import DELETE_WITHDRAWN, EDIT_CORRECTED, WINDOW, change_key, changed_post
from common.db.outage import DB_ERRORS
from common.db.prepared import AnyRows
from common.refused import Refused
from delivery.bridges.messages import letter_without_posts
from delivery.issues.audience import kinds_that
from delivery.issues.contents import arranged
from delivery.issues.pause import BY_EDITOR, add_change
from delivery.letters.build import issue_letter, newsletter_letter
from delivery.links import issue_url
from delivery.models import Correction, Delivery, Issue, IssueItem, RemotePost
from delivery.models.delivery import NOT_FINISHED, WAITING
from delivery.rendering.errors import Rendered
from delivery.rules.posts import Post
from feeds.items.alerts import ItemNews, note_tracked, take_news
from feeds.models import TrackedItem
from feeds.parsing.entry import Entry
from feeds.polling.whole import has_text
from subscriptions.models import Subscribable

NO_SENT_POST = "There is no post to change: it was not sent, or its service gave no ID for it."
SUPERSEDED = "A newer correction, or the post's deletion, came before it."
SWITCHED_OFF = "The bridge no longer edits its posts."
LEFT_OUT = "The bridge leaves the corrected post out, so the old one stays."
SAME_WORDS = "The text of the bridge’s post has not changed."
log = logging.getLogger(__name__)
# The next pass is soon.
MOST_NEWS = 200
NO_DIGESTS = "only posts sent one at a time can be changed. Switch it off, or send each post on its own."
LOOK_AGAIN = timedelta(minutes=1)
UNBEGUN = (*WAITING, "held")
NEWER = "A newer correction came before this one was done."
DELETED = "The post was withdrawn from its feed."
WITHDRAWN_UNSENT = "It was withdrawn from its feed before it was sent."


def corrections_to_take(now: datetime) -> tuple[QuerySet[Any], ...]:
    """Return querysets; `take_corrections` has work if one has a row."""
    tracked = TrackedItem.objects
    return (tracked.unnoted(), tracked.with_news(), Correction.objects.due(now), tracked.over(now))


_TO_TAKE = AnyRows(corrections_to_take)


def take_corrections(*, now: datetime) -> int:
    """Queue edits and deletions of sent posts. Return how many."""
    if not _TO_TAKE.at(now):
        return 0
    unnoted, news, due, over = corrections_to_take(now)
    if unnoted.exists():
        note_tracked()
    for item_id in list(news.values_list("pk", flat=True)[:MOST_NEWS]):
        with _alone(item_id):
            _take(item_id, now)
    queued = 0
    for pk in list(due.order_by("look_at", "pk").values_list("pk", flat=True)):
        with _alone(pk):
            queued += _queue(pk, now)
    if over.exists():
        over.delete()
    return queued


@contextmanager
def _alone(pk: int) -> Iterator[None]:
    """Isolate failures; the next pass retries them."""
    try:
        yield
    except DB_ERRORS:
        raise
    except Exception:
        log.exception("a correction cannot be passed on", extra={"about": pk})


def refuse_changed_digests(bridge: Subscribable) -> None:
    """Raise ValidationError for edits or deletions of digests."""
    if bridge.arrangement == Subscribable.Arrangement.EACH:
        return
    for option in (EDIT_CORRECTED, DELETE_WITHDRAWN):
        if bridge.options.get(option):
            raise ValidationError({"options": f"{option}: {NO_DIGESTS}"})


@transaction.atomic
def _take(item_id: int, now: datetime) -> None:
    """Record an item's change for bridges that sent it recently."""
    news = take_news(item_id)
    if news is None:
        return
    sent = IssueItem.objects.filter(item=item_id, issue__published_at__gte=news.at - WINDOW)
    rows = sent.select_related("issue__subscribable").defer("entry", "issue__html", "issue__text")
    for row in rows.order_by("issue_id"):
        wish = DELETE_WITHDRAWN if news.entry is None else EDIT_CORRECTED
        if kinds_that(wish, row.issue.subscribable):
            _note(row, news, now)


def letter_now(issue: Issue) -> Letter | None:
    """Return a sent issue's letter with its last correction; None if its post was withdrawn."""
    last = Correction.objects.filter(issue=issue).order_by("-number").first()
    if last is not None and last.is_withdrawal:
        return None
    try:
        return _letter_of(issue, last) if last else issue_letter(issue)
    except NotNeeded:
        return None


def _note(row: IssueItem, news: ItemNews, now: datetime) -> None:
    earlier = Correction.objects.filter(issue=row.issue_id)
    last = earlier.defer("entry").order_by("-number").first()
    if last is not None and last.is_withdrawal:
        return
    if news.entry is not None and news.content_hash == (last or row).content_hash:
        return  # no change
    earlier.update(look_at=None)
    Correction.objects.create(
        issue_id=row.issue_id,
        number=last.number + 1 if last else 1,
        seen_at=news.at,
        entry=news.entry.to_json() if news.entry else None,
        content_hash=news.content_hash,
        look_at=now,
    )


@transaction.atomic
def _queue(correction_id: int, now: datetime) -> int:
    """Queue changes of sent posts, and wait for others."""
    due = Correction.objects.due(now).select_for_update(of=("self",), skip_locked=True)
    rows = due.select_related("issue__subscribable").defer("entry", "issue__html", "issue__text")
    correction = rows.filter(pk=correction_id).first()
    if correction is None:
        return 0
    issue, bridge = correction.issue, correction.issue.subscribable
    queued, waits = 0, False
    if kinds := kinds_that(DELETE_WITHDRAWN if correction.is_withdrawal else EDIT_CORRECTED, bridge):
        waits = issue.paused_at is not None or bridge.sending_paused_at is not None
        posts = Delivery.objects.filter(issue=issue, destination__kind__in=kinds).order_by("pk")
        posts = posts.select_for_update(no_key=True, of=("self",))
        for post in () if waits else posts:
            if post.state == Delivery.State.SENT:
                queued += _queue_change(post, correction, now)
            elif not (correction.is_withdrawal and _is_cancelled(post)):
                waits |= post.state in NOT_FINISHED
    again = now + LOOK_AGAIN if waits and now - correction.seen_at < WINDOW else None
    Correction.objects.filter(pk=correction.pk).update(look_at=again)
    return queued


def _is_cancelled(post: Delivery) -> bool:
    """Cancel a withdrawn post, unless it may be online: then it is sent or found first."""
    if post.begun_at is not None or post.state not in UNBEGUN:
        return False
    unsent = Delivery.objects.filter(pk=post.pk, state=post.state, begun_at=None)
    facts = {"state": Delivery.State.CANCELLED, "held_for": "", "last_error": WITHDRAWN_UNSENT}
    return bool(unsent.update(**facts))


def _queue_change(post: Delivery, correction: Correction, now: datetime) -> int:
    """Queue an edit or deletion once, and cancel waiting edits before it."""
    is_deletion = correction.is_withdrawal
    number = 1 if is_deletion else correction.number
    before = [change_key(post.pk, one) for one in range(1, correction.number)]
    waiting = Delivery.objects.filter(kind=Delivery.Kind.EDIT, key__in=before, issue=None, state__in=UNBEGUN)
    waiting.update(state=Delivery.State.CANCELLED, held_for="", last_error=DELETED if is_deletion else NEWER)
    kind = Delivery.Kind.DELETE if is_deletion else Delivery.Kind.EDIT
    return int(add_change(post, kind, number, now))


class NotNeeded(Refused):
    """There is nothing to do any more."""


class SentPost(NamedTuple):
    """Ids of a post at the service, and of its thread."""

    remote_id: str
    parts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PostChange:
    """`letter`: new text; a deletion has no posts. `before`: present text, if certain."""

    sent: SentPost
    letter: Letter
    before: Letter | None = None

    def refuse_same(self, recipient: Recipient, *, kind: str) -> None:
        """Raise NotNeeded if the message would not change."""
        ours = channel(kind)
        if self.before and ours.compose(self.before, recipient) == ours.compose(self.letter, recipient):
            raise NotNeeded(SAME_WORDS)


def change_of(delivery_id: int) -> PostChange:
    """Return a claimed change. Raises NotNeeded, and LetterError if own code fails."""
    row = Delivery.objects.only("kind", "key").get(pk=delivery_id)
    post_id, number = changed_post(row.key)
    related = Delivery.objects.select_related("issue__subscribable", "destination")
    post = related.filter(pk=post_id, state=Delivery.State.SENT).exclude(remote_id="").first()
    if post is None or post.issue is None:
        raise NotNeeded(NO_SENT_POST)
    remote = RemotePost.objects.filter(delivery=post).first()
    sent = SentPost(post.remote_id, tuple(remote.parts) if remote else ())
    bridge = post.issue.subscribable
    if row.kind == Delivery.Kind.DELETE:
        return PostChange(sent, letter_without_posts(bridge))
    every = list(Correction.objects.filter(issue=post.issue).order_by("number"))
    wanted = next((one for one in every if one.number == number), None)
    if (wanted is None and number < BY_EDITOR) or _is_superseded(post, number, len(every)):
        raise NotNeeded(SUPERSEDED)
    if wanted is None:
        return PostChange(sent, issue_letter(post.issue))
    if post.destination.kind not in kinds_that(EDIT_CORRECTED, bridge):
        raise NotNeeded(SWITCHED_OFF)
    before = _standing(post, post.issue, every[: number - 1])
    return PostChange(sent, _letter_of(post.issue, wanted), before)


def _is_superseded(post: Delivery, number: int, last: int) -> bool:
    """Return whether a later edit or the deletion was done or will be."""
    later = [change_key(post.pk, one) for one in range(number + 1, last + 1)]
    goes_on = Delivery.objects.filter(issue=None, state__in=(*NOT_FINISHED, Delivery.State.SENT))
    if goes_on.filter(kind=Delivery.Kind.EDIT, key__in=later).exists():
        return True
    return goes_on.filter(kind=Delivery.Kind.DELETE, key=change_key(post.pk, 1)).exists()


def _standing(post: Delivery, issue: Issue, earlier: list[Correction]) -> Letter | None:
    """Return the present text; None if an edit may have arrived unnoticed."""
    keys = {change_key(post.pk, one.number): one for one in earlier}
    edits = Delivery.objects.filter(kind=Delivery.Kind.EDIT, issue=None, key__in=keys)
    for edit in sorted(edits, key=lambda edit: changed_post(edit.key), reverse=True):
        if edit.state == Delivery.State.SENT:
            return _letter_of(issue, keys[edit.key])
        if edit.attempts:
            return None
    entries = [Entry.from_json(row.entry) for row in issue.issue_items.order_by("position")]
    return _letter(issue, entries, issue.text if not issue.html else "")


def _letter_of(issue: Issue, correction: Correction) -> Letter:
    """Return the corrected letter. Raises NotNeeded if left out, and LetterError."""
    assert correction.entry is not None  # noqa: S101 - it is no withdrawal
    row = issue.issue_items.select_related("item__feed").get()
    feed_url = row.item.feed.url if row.item else ""
    entry = Entry.from_json(correction.entry)
    if has_text(row.item_id):
        # The correction has the feed's excerpt.
        entry = replace(entry, content=Entry.from_json(row.entry).content)
    done = arranged(issue.subscribable, [Post(row.item_id or 0, 0, entry, feed_url)])
    if not done.posts:
        raise NotNeeded(LEFT_OUT)
    return _letter(issue, [post.entry for post in done.posts], done.announcement)


def _letter(issue: Issue, entries: list[Entry], words: str) -> Letter:
    """Return the letter. `words`: own code's, instead of the usual ones."""
    return newsletter_letter(
        issue.subscribable,
        Rendered(title=issue.title, subject="", html="", text=words),
        kind=Delivery.Kind.ISSUE,
        token=issue.token,
        entries=entries,
        web_url=issue_url(issue),
        at=issue.published_at,
    )
