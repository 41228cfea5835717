"""Seal complete collections, render them outside of any transaction, store and publish in one.

A batch of collections shares the statements of each step.
"""

import logging
import secrets
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from itertools import accumulate
from typing import Any, TypeVar
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q, Value
from django.db.models.functions import Concat, Trim

from common.backoff import delay
from common.clock import utcnow
from common.db.bulk import batched, update_rows
from common.db.leases import lease
from common.db.prepared import AnyRows
from common.passes import TimeBudget
from common.text import without_controls
from delivery.issues.broadcasts import release_letters, scheduled_letters
from delivery.issues.contents import (
    Collected,
    LetterSettings,
    Telling,
    assignments_of,
    card_of,
    collected,
    letter_settings_of,
    note_dropped,
    rendered_issue,
)
from delivery.issues.corrected import record_told, with_corrections
from delivery.issues.frequency_switches import apply_frequency_changes, switches_to_apply
from delivery.issues.publish import (
    due_drafts,
    over,
    publish_to_readers,
    queue_for_all,
    release_due,
    release_waiting,
)
from delivery.models import Issue, IssueCard, IssueItem, SetAside
from delivery.rendering.errors import Rendered
from delivery.rules.posts import WHY_LEFT_OUT
from delivery.rules.progress import release_of
from feeds.models import Item
from subscriptions.collections.assign import (
    clear_unneeded,
    delete_dropped_feeds,
    dropping_feeds,
    lock_for_membership,
    numbered,
)
from subscriptions.collections.edits import WITHDRAWN
from subscriptions.collections.post_rules import note_left_out, note_troubles
from subscriptions.collections.readiness import JUDGED_BY, behind, complete_among, make_feeds_due
from subscriptions.models import Assignable, Assignment, LeftOut, SeenLink, Subscribable, Subscription

log = logging.getLogger(__name__)

# Longest delay after a worker died while rendering.
SEALED_FOR = timedelta(minutes=2)
FIRST_BACKOFF = timedelta(minutes=1)
LONGEST_BACKOFF = timedelta(hours=6)
JUDGED_TOGETHER = 500
# Limits of a batch, for its memory and the delay of its first letter.
MOST_COLLECTIONS = 50
MOST_POSTS = 100
MOST_CHARACTERS = 5_000_000
RENDERED_FOR = timedelta(seconds=2)

_WAITING_BEFORE = AnyRows(lambda now: (behind(now), due_drafts(now), scheduled_letters(now), over(now)))
_WAITING_AFTER = AnyRows(lambda now: (dropping_feeds(), *switches_to_apply(now)))
Sealed = tuple[Assignable, list[Assignment], LetterSettings]
Row = TypeVar("Row")
Result = TypeVar("Result")
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


def complete_due(*, clock: Callable[[], datetime] = utcnow, budget: timedelta | None = None) -> int:
    """Issue complete collections, oldest first, within the budget. Return how many."""
    issued = 0
    left = TimeBudget(budget)
    if _WAITING_BEFORE.at(clock()):
        make_feeds_due(now=clock())
        release_due(clock=clock, budget=budget)
        release_letters(clock=clock, budget=budget)
        release_waiting(clock=clock, budget=budget)
    waiting = _complete_now(clock())
    while waiting and not left.is_spent:
        posts = accumulate(count for _, count in waiting[:MOST_COLLECTIONS])
        size = max(1, sum(count <= MOST_POSTS for count in posts))
        batch, waiting = waiting[:size], waiting[size:]
        count, unrendered = complete_collections([pk for pk, _ in batch], now=clock())
        issued += count
        waiting = [row for row in batch if row[0] in unrendered] + waiting
    if _WAITING_AFTER.at(clock()):
        delete_dropped_feeds()
        apply_frequency_changes(now=clock(), budget=budget)
    return issued


def _complete_now(now: datetime) -> list[tuple[int, int]]:
    """Return complete collections with their numbers of posts. Not locked, so check them again."""
    ended = Q(period_end__lte=now) | Q(period_end=None) | Q(sent_now_at__isnull=False)
    due: Any = Assignable.objects.due(now).filter(ended).order_by("period_end", "opened_at", "pk")
    rows = list(due.counted().select_related("subscribable").only(*JUDGED_BY))
    complete = [row for some in batched(rows, JUDGED_TOGETHER) for row in complete_among(some, now)]
    return [(row.pk, row.held + row.left_out) for row in complete]


def complete_collection(*, assignable_id: int, now: datetime) -> bool:
    """Complete a collection if it is due. A failure is recorded and retried.

    Without a post to send it ends without an issue.
    """
    count, _ = complete_collections([assignable_id], now=now)
    return bool(count)


def complete_collections(assignable_ids: Sequence[int], *, now: datetime) -> tuple[int, set[int]]:
    """Do the same for several. Return how many, and the keys for which the batch had no room."""
    parts = _together(
        lambda keys: _sealed(keys, now), assignable_ids, lambda pk, error: _put_off(pk, None, error, now)
    )
    sealed = deque(each for part in parts for each in part)
    time_left, room = TimeBudget(RENDERED_FOR), MOST_CHARACTERS
    completed: list[Completed] = []
    told: set[Telling] = set()
    while sealed and not (completed and (room < 0 or time_left.is_spent)):
        assignable, rows, letter_settings = sealed.popleft()
        token = assignable.seal_token
        try:
            contents = with_corrections(collected(assignable, rows), now=now, told=told)
            told.update(contents.told)
            note_troubles(contents.troubles, title=contents.subscribable.title, now=now)
            rendered = None
            if contents.posts:
                rendered = rendered_issue(contents, now=now, letter_settings=letter_settings)
                room -= len(rendered.html) + len(rendered.text)
            completed.append(Completed(contents, rendered, token))
        except Exception as error:  # noqa: BLE001 - recorded
            _put_off(assignable.pk, token, error, now)
    counts = _together(
        lambda batch: store_issues(batch, now=now),
        completed,
        lambda each, error: _put_off(each.contents.assignable_id, each.token, error, now),
    )
    unrendered = {assignable.pk: assignable.seal_token for assignable, _, _ in sealed}
    left = Assignable.objects.filter(pk__in=unrendered, seal_token__in=unrendered.values())
    left.update(seal_token=None, seal_until=None)
    return sum(counts), set(unrendered)


def _together(
    act: Callable[[Sequence[Row]], Result], rows: Sequence[Row], fail: Callable[[Row, Exception], None]
) -> list[Result]:
    """Call `act` with all rows or, after an error, with halves of them, so that one stops no other."""
    if not rows:
        return []
    try:
        with transaction.atomic():
            return [act(rows)]
    except Exception as error:  # noqa: BLE001 - recorded
        if len(rows) == 1:
            fail(rows[0], error)
            return []
    middle = len(rows) // 2
    return _together(act, rows[:middle], fail) + _together(act, rows[middle:], fail)


@transaction.atomic
def _sealed(assignable_ids: Sequence[int], now: datetime) -> list[Sealed]:
    """Seal the complete ones of these collections, under their newsletters' locks.

    Then no post is added or removed any more.
    """
    due = Assignable.objects.due(now).filter(pk__in=assignable_ids)
    newsletters = Subscribable.objects.filter(pk__in=due.values("subscribable"))
    locked = {row.pk: row for row in lock_for_membership(newsletters.prefetch_related("post_rules"))}
    rows: dict[int, Any] = due.counted().filter(subscribable__in=locked).in_bulk()
    assignables = [rows[pk] for pk in assignable_ids if pk in rows]
    for assignable in assignables:
        assignable.subscribable = locked[assignable.subscribable_id]
    complete = complete_among(assignables, now)
    token, until = lease(now, SEALED_FOR)
    for assignable in complete:
        assignable.seal_token, assignable.seal_until = token, until
    Assignable.objects.filter(pk__in=[row.pk for row in complete]).update(seal_token=token, seal_until=until)
    assignments = assignments_of(complete)
    letter_settings = letter_settings_of([row.subscribable for row in complete])
    return [(row, assignments[row.pk], letter_settings[row.subscribable_id]) for row in complete]


@transaction.atomic
def _put_off(assignable_id: int, token: UUID | None, error: Exception, now: datetime) -> None:
    """Take the seal away, and try again later."""
    if not isinstance(error, CollectionChanged):
        log.error("completing failed", exc_info=error, extra={"collection": assignable_id})
    assignable = Assignable.objects.select_for_update().filter(pk=assignable_id, seal_token=token).first()
    if assignable is None:
        return
    assignable.failures += 1
    assignable.last_error = without_controls(f"{type(error).__name__}: {error}")[:2000]
    assignable.next_try_at = now + delay(assignable.failures, first=FIRST_BACKOFF, limit=LONGEST_BACKOFF)
    assignable.seal_token = assignable.seal_until = None
    assignable.save(update_fields=["failures", "last_error", "next_try_at", "seal_token", "seal_until"])


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
        # So many letters would delay the first ones, and a first reader comes first.
        subscriptions = Subscription.objects.filter(subscribable__in=newsletters)
        awaited = any(row.awaits_first_reader for row in newsletters.values())
        if awaited or subscriptions[MOST_LETTERS:].exists():
            raise StoredApart
    issues: list[tuple[Issue, Collected, bool]] = []
    for each in batch:
        if each.rendered is None:
            continue
        assignable = assignables[each.contents.assignable_id]
        subscribable = newsletters[each.contents.subscribable.pk]
        waits, release_at = release_of(
            subscribable.approval,
            subscribable.approval_minutes,
            now,
            is_sent_now=assignable.sent_now_at is not None,
            waits_for_editor=assignable.waits,
        )
        goes_out = not waits and not subscribable.awaits_first_reader
        issue = _issue_of(each.contents, each.rendered, now)
        issue.published_at, issue.release_at = now if goes_out else None, release_at
        issues.append((issue, each.contents, waits))
    made = [(issue, contents) for issue, contents, _ in issues]
    _insert(made)
    if not record_told(made):
        raise CollectionChanged("Another issue has told its corrections meanwhile.")
    _end([each.contents for each in batch], newsletters, now)
    queue_for_all([issue for issue, _, _ in issues if issue.published_at is not None], now=now)
    for issue, contents, waits in issues:
        if waits:
            _set_aside(issue, contents, now)
        elif issue.published_at is None:
            publish_to_readers(issue_id=issue.pk, now=now)
    return len(batch)


def _issue_of(contents: Collected, rendered: Rendered, now: datetime) -> Issue:
    return Issue(
        subscribable=contents.subscribable,
        within_type_id=contents.within_type_id,
        token=secrets.token_hex(12),
        **asdict(rendered),
        period_start=contents.period_start,
        period_end=contents.period_end,
        own_subject=contents.wording.subject,
        note_top=contents.wording.note_top,
        note_foot=contents.wording.note_foot,
        corrected=contents.corrected,
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


def give_items_back(subscribable: Subscribable, item_ids: Sequence[int], *, now: datetime) -> None:
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
            give_items_back(contents.subscribable, [post.item_id for post in contents.withdrawn], now=now)
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
