"""Fates of posts: in issues, in open collections, or left out.

The number of queries does not depend on the number of posts.

Edits and deletions of sent posts.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.db.models import Count, QuerySet, prefetch_related_objects

from channels.rules.corrections import change_key, changed_post
from common.text import pluralize
from delivery.issues.progress import counts_of, issue_state
from delivery.models import Correction, Delivery, Issue, IssueItem
from delivery.rules.posts import (
    CANCELLED,
    FAILED,
    KEPT,
    LEFT_OUT,
    NOBODY,
    REACHING,
    SENDING,
    SENT,
    WAITS,
    ItemPlace,
    fate_sentence,
    until_words,
    waits_in_collection,
)
from delivery.rules.progress import arrived, total
from feeds.items.history import standing
from feeds.models import Item
from feeds.rules.item_status import WITHDRAWN_SINCE
from subscriptions.collections.post_rules import left_out_words
from subscriptions.collections.readiness import collection_facts
from subscriptions.models import KEPT as KEPT_POSTS
from subscriptions.models import Assignable, Assignment, FailedAssignment, LeftOut, Subscribable

State = Delivery.State
NOT_DONE_WORDS = {
    State.QUEUED: "waits",
    State.SENDING: "is under way",
    State.DEFERRED: "is tried again",
    State.FAILED: "failed",
    State.HELD: "is held",
    State.CANCELLED: "was left out",
    State.STORED: "was kept here",
}
TIMES = {1: "once", 2: "twice"}
BY_EDITOR = "by an editor"


@dataclass(frozen=True, slots=True)
class _Facts:
    places: Sequence[ItemPlace]
    left_out: Sequence[LeftOut]
    # Per newsletter of its feed.
    stopped: Sequence[bool]
    changes: Sequence[str]
    error: str


def fate_of(item: Item, now: datetime) -> str:
    """Return sentences about a post."""
    return fates_of([item], now)[item.pk]


def fates_of(items: Sequence[Item], now: datetime) -> dict[int, str]:
    """Return sentences by item key."""
    prefetch_related_objects(items, "feed")
    pks = [item.pk for item in items]
    places = places_of_items(pks, now)
    left_out = _left_out(pks, Subscribable.objects.all())
    stopped: dict[int, list[bool]] = defaultdict(list)
    feeds = {item.feed_id for item in items}
    for feed, is_stopped in Subscribable.objects.filter(feeds__in=feeds).values_list("feeds", "stopped"):
        stopped[feed].append(is_stopped)
    changes = _since_sent(pks)
    errors = dict(FailedAssignment.objects.filter(item__in=pks).values_list("item", "last_error"))
    facts = {
        item.pk: _Facts(
            places[item.pk],
            left_out[item.pk],
            stopped[item.feed_id],
            changes[item.pk],
            errors.get(item.pk, ""),
        )
        for item in items
    }
    return {item.pk: _fate(item, facts[item.pk], now) for item in items}


def _fate(item: Item, facts: _Facts, now: datetime) -> str:
    places = facts.places
    is_through = item.state in (Item.State.ASSIGNED, Item.State.CLEARED)
    reaches = any(place.state in REACHING for place in places)
    if is_through or reaches:
        said = [fate_sentence(places, _otherwise(item, facts, now))]
    else:
        # Newsletters have not decided yet; an editor may have.
        said = [_otherwise(item, facts, now), *([fate_sentence(places, "")] if places else [])]
    if reaches and item.state == Item.State.EXCLUDED:
        said.append(standing(item, now).replace("Not sent", "Nowhere else"))
    if places and is_through:
        said += [_reason_besides(item, facts), *facts.changes]
    said.append(f"It couldn’t be added to an issue and is tried again: {facts.error}" if facts.error else "")
    return " ".join(filter(None, said))


def places_of(item: Item, now: datetime) -> list[ItemPlace]:
    """Return the newsletters that sent, hold or left out the post."""
    return places_of_items([item.pk], now)[item.pk]


def places_of_items(
    pks: Sequence[int], now: datetime, *, only: Subscribable | None = None
) -> dict[int, list[ItemPlace]]:
    """Return places by item key, `only` in one newsletter."""
    newsletters = Subscribable.objects.filter(pk=only.pk) if only else Subscribable.objects.all()
    places: dict[int, list[ItemPlace]] = {pk: [] for pk in pks}
    for pk, place in (*_in_issues(pks, now, newsletters), *_in_collections(pks, now, newsletters)):
        places[pk].append(place)
    for pk, rows in _left_out(pks, newsletters).items():
        there = {place.newsletter for place in places[pk]}
        for row in rows:
            name = str(row.subscribable)
            if name not in there:
                places[pk].append(ItemPlace(name, LEFT_OUT, BY_EDITOR if row.by_hand else row.reason))
    return places


def _left_out(pks: Sequence[int], newsletters: "QuerySet[Subscribable]") -> dict[int, list[LeftOut]]:
    found: dict[int, list[LeftOut]] = defaultdict(list)
    rows = LeftOut.objects.filter(item__in=pks, subscribable__in=newsletters)
    for row in rows.select_related("subscribable").order_by("pk"):
        found[row.item_id].append(row)
    return found


def _since_sent(pks: Sequence[int]) -> dict[int, list[str]]:
    """Return the bridges' edits and deletions of sent posts."""
    found: dict[int, list[str]] = defaultdict(list)
    pairs = _issues_of(pks, Issue.objects.filter(corrections__isnull=False))
    posts = list(Delivery.objects.filter(issue__in={issue for _, issue in pairs}, state="sent"))
    if not posts:
        return found
    changes = changes_of(posts)
    words: dict[int, dict[str, None]] = defaultdict(dict)
    for post in posts:
        if post.pk in changes and (said := changes[post.pk].words):
            words[post.issue_id or 0][said] = None
    issues = (
        Issue.objects.select_related("subscribable")
        .defer("html", "text", "placeholders")
        .in_bulk(list(words))
    )
    for item, issue in pairs:
        if issue in words:
            said = "; ".join(words[issue]).rstrip(".")
            found[item].append(f"Since then, in {issues[issue].subscribable}: {said}.")
    return found


def _issues_of(pks: Sequence[int], issues: "QuerySet[Issue]") -> list[tuple[int, int]]:
    """Return pairs of post and issue, in issue order."""
    rows = IssueItem.objects.filter(item__in=pks, issue__in=issues).order_by("issue_id", "item_id")
    return [(item, issue) for item, issue in rows.values_list("item_id", "issue_id").distinct() if item]


def _reason_besides(item: Item, facts: _Facts) -> str:
    """Return the row's reason without newsletters that the sentence names."""
    rest = item.reason
    for row in facts.left_out:
        rest = rest.replace(left_out_words(row.subscribable, row.reason), "")
    return " ".join(rest.split())


def _otherwise(item: Item, facts: _Facts, now: datetime) -> str:
    """Describe a post in no newsletter."""
    readers = facts.stopped
    is_ready = item.state == Item.State.UNASSIGNED and item.final_at is not None
    if item.state != Item.State.CLEARED and not (is_ready and not item.vanished_at and not item.held_at):
        return standing(item, now)
    if readers and not all(readers):
        return standing(item, now)
    why = "every newsletter of its feed is stopped" if readers else "no newsletter uses this feed"
    if readers or not is_ready:
        return " ".join(filter(None, (f"Not sent: {why}.", item.reason)))
    return f"Ready, but {why}."


def _in_issues(
    pks: Sequence[int], now: datetime, newsletters: "QuerySet[Subscribable]"
) -> Iterator[tuple[int, ItemPlace]]:
    pairs = _issues_of(pks, Issue.objects.filter(subscribable__in=newsletters))
    keys = {issue for _, issue in pairs}
    issues = (
        Issue.objects.select_related("subscribable").defer("html", "text", "placeholders").in_bulk(list(keys))
    )
    counts = counts_of(keys)
    for item, pk in pairs:
        issue = issues[pk]
        place = _in_issue(issue, counts[pk], now)
        yield item, replace(place, newsletter=str(issue.subscribable), issue=pk)


def _in_issue(issue: Issue, counts: Counter[str], now: datetime) -> ItemPlace:
    state = issue_state(issue, counts)
    if arrived(counts):
        # The mailbox's letters reached nobody.
        return ItemPlace("", SENT if counts["sent"] else KEPT)
    if state == "cancelled":
        return ItemPlace("", CANCELLED)
    if state == "waiting":
        return ItemPlace("", WAITS, "for its first subscriber")
    if state == "draft" and issue.release_at is None:
        return ItemPlace("", WAITS, "for your approval")
    if state == "draft" and issue.release_at is not None:
        words = until_words(issue.release_at, now, issue.subscribable.zone)
        return ItemPlace("", WAITS, words, issue.release_at)
    if state == "paused":
        return ItemPlace("", WAITS, "because it is paused")
    if state == "sending":
        return ItemPlace("", SENDING)
    return ItemPlace("", FAILED if total(counts) else NOBODY)


def _in_collections(
    pks: Sequence[int], now: datetime, newsletters: "QuerySet[Subscribable]"
) -> Iterator[tuple[int, ItemPlace]]:
    rows = list(
        Assignment.objects.filter(item__in=pks, assignable__subscribable__in=newsletters)
        .select_related("item")
        .order_by("pk")
    )
    held = Assignable.objects.filter(pk__in={row.assignable_id for row in rows})
    held = held.annotate(kept=KEPT_POSTS, every=Count("assignments")).select_related("subscribable")
    collections = {each.pk: each for each in held}
    for row in rows:
        row.assignable = collections[row.assignable_id]
        yield row.item_id, _in_collection(row, row.assignable, now)


def _in_collection(row: Assignment, held: Any, now: datetime) -> ItemPlace:
    """Return the place. `held`: the collection, annotated with `kept` and `every`."""
    name = str(held.subscribable)
    if row.left_out_at is not None:
        return ItemPlace(name, LEFT_OUT, BY_EDITOR)
    if row.is_withdrawn:
        return ItemPlace(name, LEFT_OUT, WITHDRAWN_SINCE)
    if held.last_error:
        return ItemPlace(name, WAITS, f"and is tried again: {held.last_error}")
    facts = collection_facts(held, counts=(held.kept, held.every - held.kept))
    found = waits_in_collection(facts, now, held.subscribable.zone)
    if held.waits:
        found = replace(found, words=f"{found.words}, then for your approval")
    return replace(found, newsletter=name)


@dataclass(frozen=True, slots=True)
class SentChanges:
    """Edits in order, and the deletion."""

    edits: tuple[Delivery, ...] = ()
    deletion: Delivery | None = None

    @property
    def every(self) -> tuple[Delivery, ...]:
        return (*self.edits, *((self.deletion,) if self.deletion else ()))

    @property
    def is_gone(self) -> bool:
        return self.deletion is not None and self.deletion.state == State.SENT

    @property
    def words(self) -> str:
        """Return words such as "edited twice" or "deleted", with errors."""
        if self.deletion is not None:
            return "deleted" if self.is_gone else _not_done(self.deletion, "deletion")
        done = sum(edit.state == State.SENT for edit in self.edits)
        said = [f"edited {TIMES.get(done) or pluralize(done, 'time')}"] if done else []
        if self.edits and self.edits[-1].state != State.SENT:
            said.append(_not_done(self.edits[-1], "latest edit" if len(self.edits) > 1 else "edit"))
        return ", ".join(said)


def changed_delivery(change: Delivery) -> Delivery | None:
    """Return the post that an edit or deletion changes, if it still exists."""
    if change.kind not in Delivery.CHANGES:
        return None
    rows = Delivery.objects.select_related("issue", "destination").defer("issue__html", "issue__text")
    return rows.filter(pk=changed_post(change.key)[0]).first()


def changes_of(posts: Iterable[Delivery]) -> Mapping[int, SentChanges]:
    """Return changes by delivery key. Two queries."""
    rows = [post for post in posts if post.kind not in Delivery.CHANGES]
    issues = {post.issue_id for post in rows if post.issue_id}
    numbers: dict[int, list[int]] = defaultdict(list)
    for issue, number in Correction.objects.filter(issue__in=issues).values_list("issue", "number"):
        numbers[issue].append(number)
    keys = [change_key(post.pk, number) for post in rows for number in {1, *numbers[post.issue_id or 0]}]
    found: dict[int, list[Delivery]] = defaultdict(list)
    changes = Delivery.objects.filter(kind__in=Delivery.CHANGES, key__in=keys, issue=None)
    for change in changes.defer("context"):
        found[changed_post(change.key)[0]].append(change)
    return {pk: _sorted(every) for pk, every in found.items()}


def _sorted(changes: Iterable[Delivery]) -> SentChanges:
    rows = sorted(changes, key=lambda row: changed_post(row.key)[1])
    deletions = [row for row in rows if row.kind == Delivery.Kind.DELETE]
    edits = tuple(row for row in rows if row.kind == Delivery.Kind.EDIT)
    return SentChanges(edits, deletions[0] if deletions else None)


def _not_done(change: Delivery, noun: str) -> str:
    said = f"its {noun} {NOT_DONE_WORDS[State(change.state)]}"
    return f"{said}: {change.last_error}" if change.last_error else said
