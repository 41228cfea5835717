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
# The fastest: files are kept for minutes.
COMPRESSION_LEVEL = 1
# Until an unused file, and a finished report, is deleted.
WAITS_FOR, KEPT_FOR = timedelta(days=7), timedelta(days=365)
State = Arrival.State
OPEN = (State.LOOKING, State.READING, State.TAKING)
FOLDER = "feedletter-arrival-{}-"


class NotPossible(Refused):
    pass


def upload(
    *, source: str, name: str, files: Mapping[str, Iterable[bytes]], by: str, now: datetime
) -> Arrival:
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
    """Write to a private file, and remove files that killed workers left."""
    _remove_copies(row)
    with tempfile.TemporaryDirectory(prefix=FOLDER.format(row.pk)) as folder:
        place = Path(folder) / "database"
        for piece in row.pieces.order_by("suffix", "place").iterator(chunk_size=8):
            with place.with_name(place.name + piece.suffix).open("ab") as file:
                file.write(zlib.decompress(piece.data))
        yield place


def _remove_copies(row: Arrival) -> None:
    busy = Arrival.objects.filter(lease_until__gt=utcnow()).exclude(pk=row.pk)
    kept = tuple(FOLDER.format(pk) for pk in busy.values_list("pk", flat=True))
    for copy in Path(tempfile.gettempdir()).glob(FOLDER.format("*")):
        if not copy.name.startswith(kept):
            shutil.rmtree(copy, ignore_errors=True)


def begin_reading(*, arrival: Arrival, now: datetime) -> None:
    """Raises NotPossible."""
    with transaction.atomic():
        row = _locked(arrival, State.LOOKED)
        row.lines.filter(what__in=READING).delete()
        _begin(row, now, state=State.READING, is_read=False)


def begin_taking(*, arrival: Arrival, now: datetime) -> None:
    """Discard the preview. Raises NotPossible."""
    with transaction.atomic():
        row = _locked(arrival, State.LOOKED)
        row.lines.all().delete()
        _begin(row, now, state=State.TAKING, begun_at=now, is_read=False)


def stop_arrival(*, arrival: Arrival, now: datetime) -> None:
    """Keep what was taken over, and delete the file. Raises NotPossible."""
    with transaction.atomic():
        end_arrival(_locked(arrival, State.UPLOADING, State.LOOKED, *OPEN), State.STOPPED, now)


def end_arrival(row: Arrival, state: State, now: datetime) -> None:
    """Call in a transaction on a locked row. Deletes the file unless it waits for a decision."""
    row.state, row.lease_token, row.lease_until = state, None, None
    if state != State.LOOKED:
        row.ended_at = now
        row.pieces.all().delete()
    row.save()


def forgettable(now: datetime) -> QuerySet[Arrival]:
    waiting = Q(state__in=(State.UPLOADING, State.LOOKED), created_at__lt=now - WAITS_FOR)
    return Arrival.objects.filter(waiting | Q(ended_at__lt=now - KEPT_FOR))


def _locked(arrival: Arrival, *states: State) -> Arrival:
    row = Arrival.objects.select_for_update(no_key=True).get(pk=arrival.pk)
    if row.state not in states:
        raise NotPossible(f"“{row.file_name}” is {row.get_state_display()}.")
    return row


def _begin(row: Arrival, now: datetime, **values: object) -> None:
    Arrival.objects.filter(pk=row.pk).update(**handed_on(now), **values, done=0, trouble="")
