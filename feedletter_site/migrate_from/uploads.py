"""Uploaded databases: kept in pieces, looked at by a worker, taken over at an admin's word, deleted."""

import shutil
import tempfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path

from django.db import transaction
from django.db.models import Q, QuerySet

from common.clock import utcnow
from common.db.leases import handed_on
from common.refused import Refused
from common.text import one_line, shortened
from feedletter_site.migrate_from.report import READING
from feedletter_site.models import Arrival, ArrivalPiece

PIECE_SIZE = 1024 * 1024
# The fastest: a file is kept for minutes.
COMPRESSION_LEVEL = 1
# One that nobody takes over is deleted after the first; the report of one that is over after the second.
WAITS_FOR, KEPT_FOR = timedelta(days=7), timedelta(days=365)
State = Arrival.State
OPEN = (State.LOOKING, State.READING, State.TAKING)
FOLDER = "feedletter-arrival-{}-"


class NotPossible(Refused):
    """It cannot do this in its state. The message is a sentence for people."""


def upload(
    *, source: str, name: str, files: Mapping[str, Iterable[bytes]], by: str, now: datetime
) -> Arrival:
    """Keeps files, to be looked at by the next worker. They go by what is added to the database's name."""
    row = Arrival.objects.create(
        source=source, file_name=shortened(one_line(name), 200), by=by[:150], created_at=now
    )
    for suffix, pieces in files.items():
        for place, piece in enumerate(pieces):
            data = zlib.compress(piece, COMPRESSION_LEVEL)
            ArrivalPiece.objects.create(arrival=row, suffix=suffix, place=place, data=data)
            row.size += len(piece)
    row.state = State.LOOKING
    row.save(update_fields=["size", "state"])
    return row


@contextmanager
def unpacked(row: Arrival) -> Iterator[Path]:
    """Write the database as a file that only we may read, after removing copies that killed workers left."""
    _remove_copies(row)
    with tempfile.TemporaryDirectory(prefix=FOLDER.format(row.pk)) as folder:
        place = Path(folder) / "database"
        for piece in row.pieces.order_by("suffix", "place").iterator(chunk_size=8):
            with place.with_name(place.name + piece.suffix).open("ab") as file:
                file.write(zlib.decompress(piece.data))
        yield place


def _remove_copies(row: Arrival) -> None:
    """Remove the unpacked copies on this machine, but for those that another worker has."""
    busy = Arrival.objects.filter(lease_until__gt=utcnow()).exclude(pk=row.pk)
    kept = tuple(FOLDER.format(pk) for pk in busy.values_list("pk", flat=True))
    for copy in Path(tempfile.gettempdir()).glob(FOLDER.format("*")):
        if not copy.name.startswith(kept):
            shutil.rmtree(copy, ignore_errors=True)


def begin_reading(*, arrival: Arrival, now: datetime) -> None:
    """Has its feeds read, to see what would be new. Raises NotPossible."""
    with transaction.atomic():
        row = _locked(arrival, State.LOOKED)
        row.lines.filter(what__in=READING).delete()
        _begin(row, now, state=State.READING, is_read=False)


def begin_taking(*, arrival: Arrival, now: datetime) -> None:
    """Takes it over, at an admin's word. What was foreseen makes room for what is done.

    Raises NotPossible.
    """
    with transaction.atomic():
        row = _locked(arrival, State.LOOKED)
        row.lines.all().delete()
        _begin(row, now, state=State.TAKING, begun_at=now, is_read=False)


def stop_arrival(*, arrival: Arrival, now: datetime) -> None:
    """Stops it and forgets the file; whatever was taken so far stays. Raises NotPossible."""
    with transaction.atomic():
        end_arrival(_locked(arrival, State.UPLOADING, State.LOOKED, *OPEN), State.STOPPED, now)


def end_arrival(row: Arrival, state: State, now: datetime) -> None:
    """Within the caller's transaction, on a locked row. The file is deleted with its end."""
    row.state, row.lease_token, row.lease_until = state, None, None
    if state != State.LOOKED:
        row.ended_at = now
        row.pieces.all().delete()
    row.save()


def forgettable(now: datetime) -> QuerySet[Arrival]:
    """Files that nobody took over for a week, and reports that are a year old."""
    waiting = Q(state__in=(State.UPLOADING, State.LOOKED), created_at__lt=now - WAITS_FOR)
    return Arrival.objects.filter(waiting | Q(ended_at__lt=now - KEPT_FOR))


def _locked(arrival: Arrival, *states: State) -> Arrival:
    row = Arrival.objects.select_for_update(no_key=True).get(pk=arrival.pk)
    if row.state not in states:
        raise NotPossible(f"“{row.file_name}” is {row.get_state_display()}.")
    return row


def _begin(row: Arrival, now: datetime, **values: object) -> None:
    Arrival.objects.filter(pk=row.pk).update(**handed_on(now), **values, done=0, trouble="")
