"""Store an Issue and delete its collection in one transaction."""

import secrets
from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from django.db.models import Exists, F, OuterRef, Value
from django.db.models.functions import Concat, Trim

from common.clock import utcnow
from delivery.issues.cards import card_of
from delivery.issues.contents import Collected
from delivery.issues.first_reader import publish_to_readers
from delivery.issues.publish import queue_for_all
from delivery.models import Issue, IssueItem, SetAside
from delivery.rendering.issue import Rendered
from delivery.rules.approval import release_of
from delivery.rules.posts import WHY_LEFT_OUT
from feeds.models import Item
from subscriptions.collections.assign import lock_for_membership, numbered
from subscriptions.collections.drop import clear_unneeded
from subscriptions.collections.edits import WITHDRAWN
from subscriptions.collections.post_rules import note_left_out
from subscriptions.models import Assignable, Assignment, LeftOut, SeenLink, Subscribable

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


def store_issue(
    *, assignable_id: int, token: UUID, contents: Collected, rendered: Rendered, now: datetime
) -> Issue:
    """Store the issue and publish it unless it has to wait, in the caller's transaction.

    Raises CollectionChanged if the seal's token is not ours or the assignments are not the ones rendered.
    """
    assignable, subscribable = _locked(assignable_id, token, contents)
    release = release_of(
        subscribable.approval,
        subscribable.approval_minutes,
        now,
        is_sent_now=assignable.sent_now_at is not None,
        waits_for_editor=assignable.waits,
    )
    goes_out = not release.waits and not subscribable.awaits_first_reader
    issue = Issue.objects.create(
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
        published_at=now if goes_out else None,
        release_at=release.at,
    )
    IssueItem.objects.bulk_create(
        [
            IssueItem(
                issue=issue,
                item_id=post.item_id,
                position=position,
                entry=post.entry.to_json(),
                content_hash=post.content_hash,
            )
            for position, post in enumerate(contents.posts)
        ],
        batch_size=500,
    )
    card_of(issue, [post.entry for post in contents.posts]).save(force_insert=True)
    _end(assignable, subscribable, contents, now)
    if goes_out:
        queue_for_all(issue=issue, now=now)
        return issue
    if not release.waits:
        publish_to_readers(issue_id=issue.pk, now=now)
        return issue
    # Can be put back until the draft is published.
    SetAside.objects.bulk_create(
        [
            SetAside(issue=issue, item_id=post.item_id, position=position, entry=post.entry.to_json(), at=now)
            for position, post in enumerate(contents.by_hand)
        ]
    )
    return issue


def store_nothing(
    *, assignable_id: int, token: UUID, contents: Collected, now: datetime | None = None
) -> None:
    """End a collection with nothing to send. Raises CollectionChanged."""
    assignable, subscribable = _locked(assignable_id, token, contents)
    _end(assignable, subscribable, contents, now or utcnow())


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


def _locked(assignable_id: int, token: UUID, contents: Collected) -> tuple[Assignable, Subscribable]:
    """Lock the collection and its newsletter. Raises CollectionChanged."""
    locked = lock_for_membership(Subscribable.objects.filter(pk=contents.subscribable.pk).only(*_DECIDES))
    ours = Assignable.objects.filter(pk=assignable_id, seal_token=token).only("sent_now_at", "waits")
    assignable = ours.select_for_update().first()
    if assignable is None or not locked:
        raise CollectionChanged("The seal was lost while rendering; another worker has it.")
    rendered = {post.assignment_id for post in (*contents.posts, *contents.unsent)}
    if set(Assignment.objects.filter(assignable=assignable).values_list("pk", flat=True)) != rendered:
        raise CollectionChanged("The collection changed while it was rendered.")
    return assignable, locked[0]


def _end(assignable: Assignable, subscribable: Subscribable, contents: Collected, now: datetime) -> None:
    """Delete the collection, clear items that no other needs, and advance the newsletter."""
    assignable.delete()
    item_ids = [post.item_id for post in (*contents.posts, *contents.unsent)]
    if contents.withdrawn:
        # In key order.
        list(Item.objects.filter(pk__in=item_ids).order_by("pk").select_for_update().values_list("pk"))
        give_back(subscribable, [post.item_id for post in contents.withdrawn], now=now)
    clear_unneeded(item_ids=item_ids)
    for hint, why in WHY_LEFT_OUT.items():
        if pks := [post.item_id for post in contents.left_out if post.announce == hint]:
            # No issue has them, or will.
            unsent = Item.objects.filter(pk__in=pks, state=Item.State.CLEARED, issue_items=None)
            unsent.update(reason=Trim(Concat("reason", Value(f" {why}"))))
    subscribable.last_completed_wti = contents.within_type_id
    if contents.within_type_id == numbered(subscribable.counter):
        subscribable.counter += 1
    if contents.period_end is not None:
        subscribable.issued_through = max(
            contents.period_end, subscribable.issued_through or contents.period_end
        )
    subscribable.save(update_fields=["last_completed_wti", "counter", "issued_through"])
