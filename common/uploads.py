"""Uploaded files, which workers process in steps and admins decide about.

A worker leases a file and stores its progress under the lease, so that another one can continue.
"""

import logging
import shutil
import tempfile
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar

from django.db import models, transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from common.body_limits import MEGABYTE
from common.clock import utcnow
from common.db.leases import handed_on, held, held_by, lease, unleased
from common.passes import TimeBudget
from common.refused import Refused
from common.text import one_line, shortened

MOST_UPLOADED_BYTES = 200 * MEGABYTE
PIECE_SIZE = MEGABYTE
# The fastest, as files are kept for minutes.
COMPRESSION_LEVEL = 1
# Until a file about which nobody decides is deleted.
WAITS_FOR = timedelta(days=7)
LEASE = timedelta(minutes=2)
MOST_FAILURES = 3
KILLED = f"Given up after {MOST_FAILURES} tries: the worker was killed. The file may need too much memory."
COPIES_KEPT = timedelta(hours=3)

log = logging.getLogger(__name__)


class NotPossible(Refused):
    """The message is a sentence."""


class Upload(models.Model):
    """Workers take OPEN states, admins decide WAITING ones. `pieces` has the file until the end.

    A subclass has a `state` with choices, and a subclass of UploadPiece.
    """

    OPEN: ClassVar[tuple[str, ...]]
    WAITING: ClassVar[tuple[str, ...]]
    # After the end.
    KEPT_FOR: ClassVar[timedelta]
    pieces: Any
    get_state_display: Callable[[], str]

    file_name = models.CharField("file", max_length=200)
    size = models.PositiveBigIntegerField(default=0)
    by = models.CharField("uploaded by", max_length=150, blank=True, default="")
    state = models.CharField(max_length=10, default="uploading")
    trouble = models.TextField(blank=True, default="")
    # Claims since the last progress, so a worker that is killed counts, too.
    failures = models.PositiveSmallIntegerField(default=0, db_default=0, editable=False)
    created_at = models.DateTimeField("uploaded", default=timezone.now)
    begun_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    lease_token = models.UUIDField(null=True, blank=True, editable=False)
    lease_until = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta:
        abstract = True
        ordering = ("-pk",)

    def __str__(self) -> str:
        return self.file_name

    @classmethod
    def keep(
        cls,
        files: Mapping[str, Iterable[bytes]],
        state: str,
        *,
        name: str,
        by: str,
        now: datetime,
        **values: Any,
    ) -> Self:
        """Store the pieces of files by their suffixes."""
        row = cls(file_name=shortened(one_line(name), 200), by=by[:150], created_at=now, **values)
        row.save()
        for suffix, pieces in files.items():
            row.size += row.keep_file(pieces, suffix)
        row.state = state
        row.save(update_fields=["size", "state"])
        return row

    def keep_file(self, pieces: Iterable[bytes], suffix: str = "") -> int:
        """Return its size."""
        start = 0
        for piece in pieces:
            packed = zlib.compress(piece, COMPRESSION_LEVEL)
            self.pieces.create(suffix=suffix, start=start, data=packed)
            start += len(piece)
        return start

    def read(self, position: int = 0, suffix: str = "") -> Iterator[bytes]:
        rows = self.pieces.filter(suffix=suffix)
        while piece := rows.filter(start__lte=position).order_by("-start").first():
            octets = zlib.decompress(piece.data)[position - piece.start :]
            if not octets:
                return
            yield octets
            position += len(octets)

    @classmethod
    def claimable(cls, now: datetime) -> "QuerySet[Self]":
        return cls._default_manager.filter(unleased(now), state__in=cls.OPEN)

    @classmethod
    def forgettable(cls, now: datetime) -> "QuerySet[Self]":
        waiting = Q(state__in=("uploading", *cls.WAITING), created_at__lt=now - WAITS_FOR)
        return cls._default_manager.filter(waiting | Q(ended_at__lt=now - cls.KEPT_FOR))

    def locked(self, *states: str) -> Self:
        """Lock it in the caller's transaction. Raises NotPossible in other states."""
        row = type(self)._default_manager.select_for_update(no_key=True).get(pk=self.pk)
        if row.state not in states:
            raise NotPossible(f"“{row.file_name}” is {row.get_state_display()}.")
        return row

    def hand_on(self, state: str, now: datetime, **values: Any) -> None:
        """Leave a locked row to a worker."""
        fresh = {"state": state, "trouble": "", "failures": 0}
        for name, value in {**handed_on(now), **fresh, **values}.items():
            setattr(self, name, value)
        self.save()

    def end(self, state: str, now: datetime) -> None:
        """End a worker's step of a locked row. Deletes the file unless it waits for a decision."""
        self.state, self.lease_token, self.lease_until = state, None, None
        if state not in self.WAITING:
            self.ended_at = now
            self.pieces.all().delete()
        self.save()

    @property
    def stoppable(self) -> tuple[str, ...]:
        return ("uploading", *self.WAITING, *self.OPEN)

    def stop(self, *, now: datetime) -> None:
        """Keep what was done, and delete the file. Raises NotPossible."""
        with transaction.atomic():
            self.locked(*self.stoppable).end("stopped", now)

    def finish(self, state: str) -> None:
        """End a worker's step, if it still has the lease."""
        with held(self) as is_ours:
            if is_ours:
                self.end(state, utcnow())

    def note_progress(self) -> None:
        """Save a locked row, and renew the lease."""
        self.lease_until, self.trouble, self.failures = utcnow() + LEASE, "", 0
        self.save()

    def renew(self) -> bool:
        """Renew the lease; False if it was lost."""
        return bool(held_by(self).update(lease_until=utcnow() + LEASE))

    def release(self) -> None:
        """Leave the rest to the next pass."""
        held_by(self).update(**handed_on(utcnow()), failures=0)


class UploadPiece(models.Model):
    """Compressed piece of the file of an `upload`, for any worker."""

    suffix = models.CharField(max_length=4, blank=True, default="")
    start = models.PositiveBigIntegerField()
    data = models.BinaryField()

    class Meta:
        abstract = True
        constraints = (models.UniqueConstraint(name="%(class)s_once", fields=["upload", "suffix", "start"]),)

    def __str__(self) -> str:
        return f"{self.suffix} from {self.start}"


@contextmanager
def unpacked(row: Upload, prefix: str) -> Iterator[Path]:
    """Write its files to a private folder, and remove old folders that killed workers left.

    Yields the path of the file with the suffix "". `prefix` is the model's.
    """
    _remove_old_copies(prefix)
    with tempfile.TemporaryDirectory(prefix=f"{prefix}-{row.pk}-") as folder:
        place = Path(folder) / "file"
        place.touch()
        for suffix in row.pieces.values_list("suffix", flat=True).distinct():
            with place.with_name(place.name + suffix).open("wb") as file:
                file.writelines(row.read(suffix=suffix))
        yield place


def _remove_old_copies(prefix: str) -> None:
    """A pass takes less time. Other installations may use the same folder."""
    for copy in Path(tempfile.gettempdir()).glob(f"{prefix}-*"):
        with suppress(OSError):
            if time.time() - copy.stat().st_mtime > COPIES_KEPT.total_seconds():
                shutil.rmtree(copy, ignore_errors=True)


U = TypeVar("U", bound=Upload)


@transaction.atomic
def claim(model: type[U], *, now: datetime) -> U | None:
    """Lease a row, and count that. End rows that were claimed too often without progress."""
    rows = model.claimable(now).order_by("pk")
    while row := rows.select_for_update(of=("self",), skip_locked=True, no_key=True).first():
        if row.failures >= MOST_FAILURES:
            row.trouble = row.trouble or KILLED
            row.end("unusable", now)
            continue
        row.lease_token, row.lease_until = lease(now, LEASE)
        row.failures += 1
        row.save(update_fields=["lease_token", "lease_until", "failures"])
        return row
    return None


def process_uploads(model: type[U], work: Callable[[U, TimeBudget], None], *, budget: timedelta) -> None:
    """Forget old files, and process open ones. After an error a file waits for the end of its lease."""
    left = TimeBudget(budget)
    model.forgettable(utcnow()).delete()
    while row := claim(model, now=utcnow()):
        try:
            work(row, left)
        except Refused as error:
            held_by(row).update(trouble=shortened(one_line(str(error)), 1_000), failures=0)
        except Exception as error:
            log.exception("%s %s failed", model._meta.verbose_name, row.pk)
            _note_failure(row, shortened(one_line(f"{type(error).__name__}: {error}"), 1_000))
        if left.is_spent:
            break


def _note_failure(row: Upload, words: str) -> None:
    with held(row) as is_ours:
        if not is_ours:
            return
        # Forget what the worker has not stored.
        row.refresh_from_db()
        row.trouble = words
        if row.failures < MOST_FAILURES:
            row.save()
        else:
            row.trouble = f"Given up after {row.failures} errors. {words}"
            row.end("unusable", utcnow())
