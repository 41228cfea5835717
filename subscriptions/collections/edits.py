"""An editor's hand on an issue while it is collected: which posts, their order, words, hold, send now.

Each edit takes the lock for membership. So it applies wholly before the collection is sealed, or is refused.
What is left out stays in the collection until that ends, and may be put back until then.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import datetime
from typing import Any, NamedTuple

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
    "This issue is being made at this very moment: nothing was changed. In a few seconds it has gone out, or"
    " is a draft, which can be changed."
)


@contextmanager
def _locked(assignable_id: int) -> Iterator[Assignable]:
    """The collection, which no worker can seal until the edit is made. Raises CannotEdit."""
    with transaction.atomic():
        lock_for_membership(Subscribable.objects.filter(assignables=assignable_id))
        yield _editable(assignable_id)


def _editable(assignable_id: int) -> Assignable:
    """The collection, under its newsletter's lock. Raises CannotEdit."""
    rows = Assignable.objects.select_related("subscribable").filter(pk=assignable_id)
    assignable = rows.first()
    if assignable is None:
        raise CannotEdit("It has been made into an issue already: nothing was changed. See the issues.")
    is_sent = assignable.sent_now_at is not None and not assignable.failures
    if assignable.seal_token is not None or is_sent:
        raise CannotEdit(IS_MADE)
    return assignable


def leave_out(*, assignable_id: int, item_id: int, now: datetime) -> str:
    """Leaves a post out of the issue, until it is put back. Returns its title. Raises CannotEdit."""
    with _locked(assignable_id) as assignable:
        title = _leave_out(assignable, item_id, now)
        _note(assignable, edits.OUT, f"leaving out “{title}”", {"item": item_id})
    return title


def put_back(*, assignable_id: int, item_id: int, now: datetime) -> str:
    """Has a post that was left out go after all. Returns its title. Raises CannotEdit."""
    with _locked(assignable_id) as assignable:
        title = _put_back(assignable, item_id)
        _note(assignable, edits.BACK, f"putting back “{title}”", {"item": item_id})
    return title


def send_withdrawn(*, assignable_id: int, item_id: int, now: datetime) -> str:
    """Send a post that its feed has withdrawn all the same, in every newsletter that holds it.

    Return its title. If it comes back and is withdrawn again, it is set aside again. Raises CannotEdit.
    """
    with transaction.atomic():
        holders = Assignable.objects.filter(Q(pk=assignable_id) | Q(items=item_id)).values("subscribable")
        lock_for_membership(Subscribable.objects.filter(pk__in=holders))
        row = _assignment(_editable(assignable_id), item_id)
        # Noted like a post that rolled off: it is sent from what was kept, and polls leave it alone.
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
        raise CannotEdit("That post is not in this issue any more: nothing was changed.")
    return row


def note_by_hand(subscribable_id: int, item_id: int, *, now: datetime) -> None:
    """Keeps that an editor left the post out of the newsletter. In the caller's transaction."""
    LeftOut.objects.update_or_create(
        subscribable_id=subscribable_id,
        item_id=item_id,
        defaults={"reason": BY_HAND, "by_hand": True, "at": now},
    )


def forget_by_hand(subscribable_id: int, item_id: int) -> None:
    """In the caller's transaction."""
    LeftOut.objects.filter(subscribable=subscribable_id, item=item_id, by_hand=True).delete()


def reorder(*, assignable_id: int, order: Sequence[int], said: str = "the order of posts") -> None:
    """Gives the posts of these items their places, in that order. No items: the newsletter's usual order.

    Posts that are not named, as they have joined meanwhile, come after. Raises CannotEdit.
    """
    with _locked(assignable_id) as assignable:
        was = dict(assignable.assignments.values_list("item_id", "place"))
        _set_places(assignable, {item_id: place for place, item_id in enumerate(order)})
        places = [[item_id, place] for item_id, place in was.items()]
        _note(assignable, edits.ORDER, said, {"places": places})


def _set_places(assignable: Assignable, places: dict[int, Any]) -> None:
    rows = list(assignable.assignments.all())
    for row in rows:
        row.place = places.get(row.item_id)
    Assignment.objects.bulk_update(rows, ["place"], batch_size=500)


def reword(*, assignable_id: int, wording: Wording, shown: str = "") -> bool:
    """Set the issue's subject and notes. Return whether that changed anything. Raises CannotEdit.

    `shown` is the fingerprint of the words that the form was filled with (`edits.merge_wording`).
    """
    wording = tidied(wording)
    with _locked(assignable_id) as assignable:
        was = wording_of(assignable)
        wording = merge_wording(wording, was, shown)
        if was == wording:
            return False
        _set_words(assignable, wording)
        _note(assignable, edits.WORDS, "the change of words", asdict(was))
    return True


def wording_of(assignable: Assignable) -> Wording:
    return Wording(assignable.subject, assignable.note_top, assignable.note_foot)


def _set_words(assignable: Assignable, wording: Wording) -> None:
    words = asdict(wording)
    for name, value in words.items():
        setattr(assignable, name, value)
    assignable.save(update_fields=list(words))


def tidied(wording: Wording) -> Wording:
    """The words without what is no text. Raises CannotEdit where they are too long."""
    notes = (without_controls(note).strip() for note in (wording.note_top, wording.note_foot))
    wording = Wording(one_line(wording.subject), *notes)
    check_wording(wording)
    return wording


def wait_for_me(*, assignable_id: int, waits: bool) -> None:
    """Has the issue become a draft at its time, which an editor lets go; or not. Raises CannotEdit."""
    with _locked(assignable_id) as assignable:
        if assignable.waits != waits:
            _set_waits(assignable, waits)
            said = "having it wait for you" if waits else "letting it go by itself"
            _note(assignable, edits.WAITS, said, {"waits": not waits})


def _set_waits(assignable: Assignable, waits: bool) -> None:
    assignable.waits = waits
    assignable.save(update_fields=["waits"])


def send_now(*, assignable_id: int, now: datetime) -> int:
    """Ends the collection: it is issued next, and waits for no approval. Returns how many posts it has.

    A period ends here. Posts that settle later go into a collection that begins here and ends as this one
    would have. Raises CannotEdit.
    """
    with _locked(assignable_id) as assignable:
        kept = assignable.assignments.kept().count()
        if not kept:
            raise CannotEdit("There is no post in it: there is nothing to send.")
        assignable.sent_now_at, assignable.waits, assignable.next_try_at = now, False, now
        second = now.replace(microsecond=0)
        start, end = assignable.period_start, assignable.period_end
        if start is not None and end is not None and start < second < end:
            assignable.period_end = second
        assignable.save(update_fields=["sent_now_at", "waits", "next_try_at", "period_end"])
    return kept


def undo(*, assignable_id: int, now: datetime, latest: str | None = None) -> str:
    """Undo the latest edit and return its name. Raises CannotEdit if there is none.

    `latest` is the name of the edit that the button showed; another one is not undone.
    """
    with _locked(assignable_id) as assignable:
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
    """The post's title, short enough for a sentence."""
    return shortened(one_line(str(item)), edits.MOST_STEP_TITLE)


def leave_out_ahead(*, subscribable_id: int, item_id: int, now: datetime) -> str:
    """Leaves out a post that has not settled: it joins its issue as left out. Raises CannotEdit."""
    with transaction.atomic():
        item = _settling(subscribable_id, item_id)
        note_by_hand(subscribable_id, item.pk, now=now)
    return short_title(item)


def put_back_ahead(*, subscribable_id: int, item_id: int) -> str:
    """Takes that back. Raises CannotEdit once it has settled: then it is in a collection."""
    with transaction.atomic():
        item = _settling(subscribable_id, item_id)
        forget_by_hand(subscribable_id, item.pk)
    return short_title(item)


def _settling(subscribable_id: int, item_id: int) -> Item:
    """A post of the newsletter that is in no collection yet; nor can it get into one, under the lock."""
    taker = lock_for_membership(Subscribable.objects.filter(pk=subscribable_id))
    rows = Item.objects.unassigned().filter(feed__subscribables__in=taker, pk=item_id).defer("entry")
    item = rows.first()
    if item is None:
        raise CannotEdit("That post has settled meanwhile: nothing was changed. Look at the issue it is in.")
    return item


class SettlingPost(NamedTuple):
    """A post that waits to settle."""

    item: Item
    is_left_out: bool


def settling(subscribable: Subscribable, count: int) -> list[SettlingPost]:
    """The posts of its feeds that wait to settle, the latest first, and whether an editor left them out."""
    rows = Item.objects.unassigned().filter(feed__in=subscribable.feeds.all())
    found = list(rows.select_related("feed").order_by("-first_seen", "-pk")[:count])
    out = left_out_by_hand(subscribable.pk, [item.pk for item in found])
    return [SettlingPost(item, item.pk in out) for item in found]


def left_out_by_hand(subscribable_id: int, item_ids: Sequence[int]) -> set[int]:
    """Which of these posts an editor has left out of that newsletter."""
    rows = LeftOut.objects.filter(subscribable=subscribable_id, item__in=item_ids, by_hand=True)
    return set(rows.values_list("item_id", flat=True))


def next_collection(subscribable: Subscribable) -> Assignable | None:
    """The collection that goes out next, if it holds anything that is to be sent."""
    kept = Assignment.objects.kept().filter(assignable=OuterRef("pk"))
    rows = Assignable.objects.filter(Exists(kept), subscribable=subscribable)
    return rows.order_by(F("period_end").asc(nulls_last=True), "opened_at", "pk").first()


def held_words(kept: int, left_out: int) -> str:
    """“5 posts, 1 left out”."""
    return pluralize(kept, "post") + (f", {left_out:,} left out" if left_out else "")
