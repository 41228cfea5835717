"""The life of an uploaded list: looked at by a worker, then taken over at an admin's word, and forgotten."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Q

from common.text import one_line, shortened
from subscriptions.models import ListImport, RefusedLine, Subscribable
from subscriptions.services.list_files import keep_pieces
from subscriptions.services.list_reading import Terms, kind_of_list

State = ListImport.State
# What nobody gave a word about, and what is done with.
WAITS_FOR, KEPT_FOR = timedelta(days=7), timedelta(days=30)
OPEN = (State.CHECKING, State.IMPORTING)
FROM_THE_START = {
    "position": 0,
    "line": 0,
    "lines": 0,
    "added": 0,
    "updated": 0,
    "unchanged": 0,
    "repeated": 0,
    "refused": 0,
}


class NotPossible(ValueError):
    """What is asked of an import does not fit its state. The message is a sentence for people."""


def upload(
    *,
    subscribable: Subscribable,
    name: str,
    pieces: Iterable[bytes],
    terms: Terms,
    by: str,
    now: datetime,
) -> ListImport:
    """Keeps a file, to be looked at by the next worker.

    Raises ValidationError for a bridge and for an empty file.
    """
    kind_of_list(subscribable)
    row = ListImport.objects.create(
        subscribable=subscribable,
        file_name=shortened(one_line(name), 200),
        by=by[:150],
        status=terms.status,
        words=terms.words,
        created_at=now,
    )
    size = keep_pieces(row, pieces)
    if not size:
        row.delete()
        raise ValidationError("The file is empty.")
    row.size, row.state = size, State.CHECKING
    row.save(update_fields=["size", "state"])
    return row


@transaction.atomic
def begin(*, list_import: ListImport, now: datetime) -> None:
    """The admin's word: what was looked at is taken over. Raises NotPossible."""
    row = ListImport.objects.select_for_update(no_key=True).get(pk=list_import.pk)
    if row.state != State.CHECKED:
        raise NotPossible(f"“{row.file_name}” is {row.get_state_display()}.")
    RefusedLine.objects.filter(list_import=row).delete()
    fresh = {**FROM_THE_START, "state": State.IMPORTING, "begun_at": now, "trouble": ""}
    ListImport.objects.filter(pk=row.pk).update(lease_token=None, lease_until=None, **fresh)


@transaction.atomic
def stop(*, list_import: ListImport, now: datetime) -> None:
    """Ends it; what was taken over so far stays. Raises NotPossible."""
    row = ListImport.objects.select_for_update(no_key=True).get(pk=list_import.pk)
    if row.state not in (*OPEN, State.CHECKED, State.UPLOADING):
        raise NotPossible(f"“{row.file_name}” is {row.get_state_display()} already.")
    end(row, State.STOPPED, now)


def forget_old(*, now: datetime) -> None:
    """Files that nobody wanted for a week, and imports that are a month old."""
    waiting = Q(state__in=(State.UPLOADING, State.CHECKED), created_at__lt=now - WAITS_FOR)
    over = Q(state__in=(State.DONE, State.STOPPED, State.UNUSABLE), created_at__lt=now - KEPT_FOR)
    ListImport.objects.filter(waiting | over).delete()


def end(row: ListImport, state: State, now: datetime) -> None:
    """Within the caller's transaction, on a locked row; the file of what is over is deleted."""
    row.state, row.lease_token, row.lease_until = state, None, None
    if state != State.CHECKED:
        row.ended_at = now
        row.parts.all().delete()
    row.save()
