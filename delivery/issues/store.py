"""Store issues and delete their collections in one transaction."""

import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Exists, F, OuterRef, Value
from django.db.models.functions import Concat, Trim

from common.db.bulk import update_rows
from delivery.issues.cards import card_of
from delivery.issues.contents import Collected, note_dropped
from delivery.issues.first_reader import publish_to_readers
from delivery.issues.publish import queue_for_all
from delivery.models import Issue, IssueCard, IssueItem, SetAside
from delivery.rendering.issue import Rendered
from delivery.rules.approval import release_of
from delivery.rules.posts import WHY_LEFT_OUT
from feeds.models import Item
from subscriptions.collections.assign import lock_for_membership, numbered
from subscriptions.collections.drop import clear_unneeded
from subscriptions.collections.edits import WITHDRAWN
from subscriptions.collections.post_rules import note_left_out
from subscriptions.models import Assignable, Assignment, LeftOut, SeenLink, Subscribable, Subscription

# More would delay the first letters of a batch.
MOST_LETTERS = 10_000
# The newsletter's row is long.
_DECIDES = (
    "approval",
    "approval_minutes",
    "awaits_first_reader",
    "counter",
    "issued_through",
    "last_completed_wti",
)


class CollectionChanged(RuntimeError):
    """The collection is not what was rendered; it is retried."""


class StoredApart(RuntimeError):
    """These collections need transactions of their own."""


@dataclass(frozen=True, slots=True)
class Completed:
    """A collection that was sealed with `token`, and its letter; None without posts."""

    contents: Collected
    rendered: Rendered | None
    token: UUID | None


def store_issues(batch: Sequence[Completed], *, now: datetime) -> int:
    """End collections and publish their issues unless they have to wait, in the caller's transaction.

    Return how many collections.

    Raises CollectionChanged if a seal's token is not ours or the assignments are not the ones rendered, and
    StoredApart.
    """
    assignables, newsletters = _locked(batch)
    if len(batch) > 1:
        _refuse_together(newsletters.values())
    issues: list[tuple[Issue, Collected, bool]] = []
    for each in batch:
        if each.rendered is None:
            continue
        assignable = assignables[each.contents.assignable_id]
        subscribable = newsletters[each.contents.subscribable.pk]
        release = release_of(
            subscribable.approval,
            subscribable.approval_minutes,
            now,
            is_sent_now=assignable.sent_now_at is not None,
            waits_for_editor=assignable.waits,
        )
        goes_out = not release.waits and not subscribable.awaits_first_reader
        issue = _issue_of(each.contents, each.rendered, now)
        issue.published_at, issue.release_at = now if goes_out else None, release.at
        issues.append((issue, each.contents, release.waits))
    _insert([(issue, contents) for issue, contents, _ in issues])
    _end([each.contents for each in batch], newsletters, now)
    queue_for_all([issue for issue, _, _ in issues if issue.published_at is not None], now=now)
    for issue, contents, waits in issues:
        if waits:
            _set_aside(issue, contents, now)
        elif issue.published_at is None:
            publish_to_readers(issue_id=issue.pk, now=now)
    return len(batch)


def _refuse_together(newsletters: Iterable[Subscribable]) -> None:
    """Raise StoredApart for so many letters that they would delay the first ones, or a first reader."""
    subscriptions = Subscription.objects.filter(subscribable__in=[row.pk for row in newsletters])
    if any(row.awaits_first_reader for row in newsletters) or subscriptions[MOST_LETTERS:].exists():
        raise StoredApart


def _issue_of(contents: Collected, rendered: Rendered, now: datetime) -> Issue:
    return Issue(
        subscribable=contents.subscribable,
        within_type_id=contents.within_type_id,
        token=secrets.token_hex(12),
        title=rendered.title,
        subject=rendered.subject,
        html=rendered.html,
        text=rendered.text,
        placeholders=rendered.placeholders,
        period_start=contents.period_start,
        period_end=contents.period_end,
        own_subject=contents.wording.subject,
        note_top=contents.wording.note_top,
        note_foot=contents.wording.note_foot,
        created_at=now,
    )


def _insert(issues: Sequence[tuple[Issue, Collected]]) -> None:
    """Insert issues with their posts and cards."""
    Issue.objects.bulk_create([issue for issue, _ in issues])
    IssueItem.objects.bulk_create(
        [
            IssueItem(
                issue=issue,
                item_id=post.item_id,
                position=position,
                entry=post.entry.to_json(),
                content_hash=post.content_hash,
            )
            for issue, contents in issues
            for position, post in enumerate(contents.posts)
        ],
        batch_size=500,
    )
    IssueCard.objects.bulk_create(
        card_of(issue, [post.entry for post in contents.posts]) for issue, contents in issues
    )


def _set_aside(issue: Issue, contents: Collected, now: datetime) -> None:
    """Keep posts that can be put back until the draft is published."""
    SetAside.objects.bulk_create(
        [
            SetAside(issue=issue, item_id=post.item_id, position=position, entry=post.entry.to_json(), at=now)
            for position, post in enumerate(contents.by_hand)
        ]
    )


def give_back(subscribable: Subscribable, item_ids: Sequence[int], *, now: datetime) -> None:
    """Remove withdrawn items; those not sent or collected elsewhere become unassigned.

    A post that reappears later is new again. One that reappeared while its collection was made joins the next
    one. The caller has locked the items.
    """
    SeenLink.objects.filter(subscribable=subscribable, item__in=item_ids).delete()
    note_left_out(subscribable, dict.fromkeys(item_ids, WITHDRAWN), now=now)
    needed = Exists(Assignment.objects.filter(item=OuterRef("pk")))
    unsent = Item.objects.filter(~needed, pk__in=item_ids, state=Item.State.ASSIGNED, issue_items=None)
    pks = list(unsent.values_list("pk", flat=True))
    LeftOut.objects.filter(item__in=pks, reason=WITHDRAWN, by_hand=False).delete()
    Item.objects.filter(pk__in=pks).update(
        state=Item.State.UNASSIGNED, vanished_at=F("set_aside_at"), set_aside_at=None
    )


def _locked(batch: Sequence[Completed]) -> tuple[dict[int, Assignable], dict[int, Subscribable]]:
    """Lock the collections and their newsletters. Raises CollectionChanged."""
    tokens = {each.contents.assignable_id: each.token for each in batch}
    keys = {each.contents.subscribable.pk for each in batch}
    newsletters = lock_for_membership(Subscribable.objects.filter(pk__in=keys).only(*_DECIDES))
    rows = Assignable.objects.filter(pk__in=tokens).only("sent_now_at", "waits", "seal_token").order_by("pk")
    assignables = {row.pk: row for row in rows.select_for_update() if row.seal_token == tokens[row.pk]}
    if len(assignables) < len(batch) or len(newsletters) < len(keys):
        raise CollectionChanged("The seal was lost while rendering; another worker has it.")
    rendered = {
        (each.contents.assignable_id, post.assignment_id)
        for each in batch
        for post in (*each.contents.posts, *each.contents.unsent)
    }
    if set(Assignment.objects.filter(assignable__in=tokens).values_list("assignable", "pk")) != rendered:
        raise CollectionChanged("The collection changed while it was rendered.")
    return assignables, {row.pk: row for row in newsletters}


def _end(batch: Sequence[Collected], newsletters: Mapping[int, Subscribable], now: datetime) -> None:
    """Delete the collections, clear items that no other needs, and advance the newsletters."""
    Assignable.objects.filter(pk__in=[contents.assignable_id for contents in batch]).delete()
    item_ids = sorted({post.item_id for each in batch for post in (*each.posts, *each.unsent)})
    if any(contents.withdrawn for contents in batch):
        # In key order.
        list(Item.objects.filter(pk__in=item_ids).order_by("pk").select_for_update().values_list("pk"))
    for contents in batch:
        if contents.withdrawn:
            give_back(contents.subscribable, [post.item_id for post in contents.withdrawn], now=now)
    clear_unneeded(item_ids=item_ids)
    for hint, why in WHY_LEFT_OUT.items():
        if pks := [post.item_id for each in batch for post in each.left_out if post.announce == hint]:
            # No issue has them, or will.
            unsent = Item.objects.filter(pk__in=pks, state=Item.State.CLEARED, issue_items=None)
            unsent.update(reason=Trim(Concat("reason", Value(f" {why}"))))
    for contents in batch:
        if contents.reasons:
            note_dropped(contents.subscribable, contents.reasons, now=now)
        subscribable = newsletters[contents.subscribable.pk]
        subscribable.last_completed_wti = contents.within_type_id
        if contents.within_type_id == numbered(subscribable.counter):
            subscribable.counter += 1
        if contents.period_end is not None:
            subscribable.issued_through = max(
                contents.period_end, subscribable.issued_through or contents.period_end
            )
    update_rows(list(newsletters.values()), ["last_completed_wti", "counter", "issued_through"])
