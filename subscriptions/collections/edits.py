"""An editor's changes to an open collection. They raise CannotEdit.

Each takes the lock for membership, so it is complete before a seal, or refused. Posts left out can be put
back until the collection ends.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q

from common.text import one_line, pluralize, shortened, without_controls
from feeds.models import Item
from subscriptions.collections.assign import lock_for_membership
from subscriptions.models import Assignable, Assignment, LeftOut, Subscribable
from subscriptions.rules import edits
from subscriptions.rules.edits import (
    CannotEdit,
    Step,
    Wording,
    check_latest,
    check_wording,
    merge_wording,
    with_step,
)

BY_HAND = "an editor left it out"
WITHDRAWN = "its feed had withdrawn it"
IS_MADE = (
    "This issue is just being made, so nothing was changed. In a few seconds it is sent, or a draft that you"
    " can change."
)


@contextmanager
def locked(assignable_id: int) -> Iterator[Assignable]:
    """Lock the collection against sealing. Raises CannotEdit."""
    with transaction.atomic():
        lock_for_membership(Subscribable.objects.filter(assignables=assignable_id))
        yield _editable(assignable_id)


def _editable(assignable_id: int) -> Assignable:
    """Return the collection, with its newsletter locked. Raises CannotEdit."""
    rows = Assignable.objects.select_related("subscribable").filter(pk=assignable_id)
    assignable = rows.first()
    if assignable is None:
        raise CannotEdit("This has already become an issue, so nothing was changed. See the list of issues.")
    is_sent = assignable.sent_now_at is not None and not assignable.failures
    if assignable.seal_token is not None or is_sent:
        raise CannotEdit(IS_MADE)
    return assignable


def leave_out(*, assignable_id: int, item_id: int, now: datetime) -> str:
    """Return the title."""
    with locked(assignable_id) as assignable:
        title = _leave_out(assignable, item_id, now)
        _note(assignable, edits.OUT, f"leaving out “{title}”", {"item": item_id})
    return title


def put_back(*, assignable_id: int, item_id: int, now: datetime) -> str:
    """Return the title."""
    with locked(assignable_id) as assignable:
        title = _put_back(assignable, item_id)
        _note(assignable, edits.BACK, f"putting back “{title}”", {"item": item_id})
    return title


def send_withdrawn(*, assignable_id: int, item_id: int, now: datetime) -> str:
    """Send a withdrawn post in all newsletters that hold it. A later withdrawal counts again."""
    with transaction.atomic():
        holders = Assignable.objects.filter(Q(pk=assignable_id) | Q(items=item_id)).values("subscribable")
        lock_for_membership(Subscribable.objects.filter(pk__in=holders))
        row = _assignment(_editable(assignable_id), item_id)
        # As if it rolled off: it is sent from the stored entry, and polls ignore it.
        aside = Item.objects.filter(pk=item_id, set_aside_at__isnull=False)
        aside.update(set_aside_at=None, rolled_off_at=now)
    return short_title(row.item)


def _leave_out(assignable: Assignable, item_id: int, now: datetime) -> str:
    row = _assignment(assignable, item_id)
    if row.left_out_at is None:
        Assignment.objects.filter(pk=row.pk).update(left_out_at=now)
        note_by_hand(assignable.subscribable_id, item_id, now=now)
    return short_title(row.item)


def _put_back(assignable: Assignable, item_id: int) -> str:
    row = _assignment(assignable, item_id)
    Assignment.objects.filter(pk=row.pk).update(left_out_at=None)
    forget_by_hand(assignable.subscribable_id, item_id)
    return short_title(row.item)


def _assignment(assignable: Assignable, item_id: int) -> Assignment:
    rows = assignable.assignments.select_related("item").defer("item__entry")
    row = rows.filter(item=item_id).first()
    if row is None:
        raise CannotEdit("That post is no longer in this issue, so nothing was changed.")
    return row


def note_by_hand(subscribable_id: int, item_id: int, *, now: datetime) -> None:
    """Runs in the caller's transaction."""
    LeftOut.objects.update_or_create(
        subscribable_id=subscribable_id,
        item_id=item_id,
        defaults={"reason": BY_HAND, "by_hand": True, "at": now},
    )


def forget_by_hand(subscribable_id: int, item_id: int) -> None:
    """Runs in the caller's transaction."""
    LeftOut.objects.filter(subscribable=subscribable_id, item=item_id, by_hand=True).delete()


def reorder(*, assignable_id: int, order: Sequence[int], said: str = "the order of posts") -> None:
    """Set the order; empty for the usual one. Other posts follow."""
    with locked(assignable_id) as assignable:
        was = dict(assignable.assignments.values_list("item_id", "place"))
        _set_places(assignable, {item_id: place for place, item_id in enumerate(order)})
        places = [[item_id, place] for item_id, place in was.items()]
        _note(assignable, edits.ORDER, said, {"places": places})


def _set_places(assignable: Assignable, places: dict[int, Any]) -> None:
    rows = list(assignable.assignments.all())
    for row in rows:
        row.place = places.get(row.item_id)
    Assignment.objects.bulk_update(rows, ["place"], batch_size=500)


def reword(
    *, assignable_id: int, wording: Wording, shown: str = "", said: str = "the change of words"
) -> bool:
    """Return whether any changed. `shown`: fingerprint of the form's initial values."""
    wording = tidied(wording)
    with locked(assignable_id) as assignable:
        was = wording_of(assignable)
        wording = merge_wording(wording, was, shown)
        if was == wording:
            return False
        _set_words(assignable, wording)
        _note(assignable, edits.WORDS, said, asdict(was))
    return True


def wording_of(assignable: Assignable) -> Wording:
    return Wording(assignable.subject, assignable.note_top, assignable.note_foot)


def _set_words(assignable: Assignable, wording: Wording) -> None:
    words = asdict(wording)
    for name, value in words.items():
        setattr(assignable, name, value)
    assignable.save(update_fields=list(words))


def tidied(wording: Wording) -> Wording:
    """Raises CannotEdit for long texts."""
    notes = (without_controls(note).strip() for note in (wording.note_top, wording.note_foot))
    wording = Wording(one_line(wording.subject), *notes)
    check_wording(wording)
    return wording


def wait_for_me(*, assignable_id: int, waits: bool) -> None:
    """Set whether it becomes a draft at its time."""
    with locked(assignable_id) as assignable:
        if assignable.waits != waits:
            _set_waits(assignable, waits)
            said = "having it wait for you" if waits else "sending it on schedule"
            _note(assignable, edits.WAITS, said, {"waits": not waits})


def _set_waits(assignable: Assignable, waits: bool) -> None:
    assignable.waits = waits
    assignable.save(update_fields=["waits"])


def send_now(*, assignable_id: int, now: datetime) -> int:
    """End the collection and its period, to be issued without approval.

    Later posts go into a new collection for the rest of the period. Returns the number of posts.
    """
    with locked(assignable_id) as assignable:
        kept = assignable.assignments.kept().count()
        if not kept:
            raise CannotEdit("There are no posts to send.")
        assignable.sent_now_at, assignable.waits, assignable.next_try_at = now, False, now
        second = now.replace(microsecond=0)
        start, end = assignable.period_start, assignable.period_end
        if start is not None and end is not None and start < second < end:
            assignable.period_end = second
        assignable.save(update_fields=["sent_now_at", "waits", "next_try_at", "period_end"])
    return kept


def undo_edit(*, assignable_id: int, now: datetime, latest: str | None = None) -> str:
    """Undo the latest edit, if it is `latest`, the one that the button showed. Return its name."""
    with locked(assignable_id) as assignable:
        steps: list[Step] = assignable.steps or []
        check_latest(steps, latest)
        step, was = steps[-1], steps[-1]["was"]
        match step["sort"]:
            case edits.OUT:
                _put_back(assignable, was["item"])
            case edits.BACK:
                _leave_out(assignable, was["item"], now)
            case edits.ORDER:
                _set_places(assignable, dict(was["places"]))
            case edits.WORDS:
                _set_words(assignable, Wording(**was))
            case edits.WAITS:
                _set_waits(assignable, was["waits"])
        assignable.steps = steps[:-1]
        assignable.save(update_fields=["steps"])
    return step["said"]


def _note(assignable: Assignable, sort: str, said: str, was: dict[str, Any]) -> None:
    assignable.steps = with_step(assignable.steps, sort, said, was)
    assignable.save(update_fields=["steps"])


def short_title(item: Item) -> str:
    return shortened(one_line(str(item)), edits.MOST_STEP_TITLE)


def leave_out_ahead(*, subscribable_id: int, item_id: int, now: datetime) -> str:
    """Leave out a post that is not final yet."""
    with transaction.atomic():
        item = _settling(subscribable_id, item_id)
        note_by_hand(subscribable_id, item.pk, now=now)
    return short_title(item)


def put_back_ahead(*, subscribable_id: int, item_id: int) -> str:
    """Raises CannotEdit once the post is final."""
    with transaction.atomic():
        item = _settling(subscribable_id, item_id)
        forget_by_hand(subscribable_id, item.pk)
    return short_title(item)


def _settling(subscribable_id: int, item_id: int) -> Item:
    """Return an unassigned post. The lock prevents its assignment."""
    taker = lock_for_membership(Subscribable.objects.filter(pk=subscribable_id))
    rows = Item.objects.unassigned().filter(feed__subscribables__in=taker, pk=item_id).defer("entry")
    item = rows.first()
    if item is None:
        raise CannotEdit("That post has settled by now, so nothing was changed. Look at the issue it’s in.")
    return item


def settling(subscribable: Subscribable, count: int) -> dict[Item, bool]:
    """Return the newest posts that settle, and whether they are left out."""
    rows = Item.objects.unassigned().filter(feed__in=subscribable.feeds.all())
    items = list(rows.select_related("feed").order_by("-first_seen", "-pk")[:count])
    by_hand = LeftOut.objects.filter(subscribable=subscribable, item__in=items, by_hand=True)
    out = set(by_hand.values_list("item_id", flat=True))
    return {item: item.pk in out for item in items}


def next_collection(subscribable: Subscribable) -> Assignable | None:
    kept = Assignment.objects.kept().filter(assignable=OuterRef("pk"))
    rows = Assignable.objects.filter(Exists(kept), subscribable=subscribable)
    return rows.order_by(F("period_end").asc(nulls_last=True), "opened_at", "pk").first()


def held_words(kept: int, left_out: int) -> str:
    """Return “5 posts, 1 left out”."""
    return pluralize(kept, "post") + (f", {left_out:,} left out" if left_out else "")
