"""An assistant's proposal for the next issue. It changes nothing until an editor accepts it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from subscriptions.collections.edits import locked, next_collection, reorder, reword, tidied, wording_of
from subscriptions.models import Assignable, Subscribable
from subscriptions.rules.edits import CannotEdit, Wording

GONE = "This proposal was replaced or is gone. Look at the page again."


def propose(
    *, subscribable: Subscribable, by: str, order: Sequence[int], words: Mapping[str, str], now: datetime
) -> None:
    """Store a proposal in place of an earlier one. `words`: changed fields of `Wording`."""
    row = next_collection(subscribable)
    if row is None or subscribable.channel != "email":
        raise CannotEdit(f"“{subscribable}” has no next issue to edit: it has no posts yet, or is a bridge.")
    tidy = tidied(Wording(**words))
    with locked(row.pk) as assignable:
        there = set(assignable.assignments.kept().values_list("item_id", flat=True))
        if not there.issuperset(order) or len(set(order)) < len(order):
            known = ", ".join(map(str, sorted(there)))
            raise CannotEdit(f"Name posts of the next issue, each once: {known}.", "order")
        if not order and not words:
            raise CannotEdit("Propose an order, a subject or a note.")
        changed = {name: getattr(tidy, name) for name in words}
        # Its time identifies it, so that an editor accepts only the one that the page showed.
        assignable.proposal = {"by": by, "at": now.isoformat(), "order": list(order), "words": changed}
        assignable.save(update_fields=["proposal"])


def decide(*, assignable_id: int, at: str, accepts: bool) -> str:
    """Use the proposal that the page showed, or drop it. Return a sentence. Raises CannotEdit."""
    with locked(assignable_id) as assignable:
        given: Any = assignable.proposal
        if given is None or given["at"] != at:
            raise CannotEdit(GONE)
        if accepts:
            if given["order"]:
                reorder(assignable_id=assignable_id, order=given["order"], said=f"the order by {given['by']}")
            wording = replace(wording_of(assignable), **given["words"])
            reword(assignable_id=assignable_id, wording=wording, said=f"the words by {given['by']}")
        Assignable.objects.filter(pk=assignable_id).update(proposal=None)
    return f"The proposal by {given['by']} is {'used' if accepts else 'dismissed'}."
