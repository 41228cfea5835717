"""Which rows came from a source: by them a second run knows what the first one did."""

from datetime import datetime

from django.db import IntegrityError, transaction

from feedletter_site.models import Origin


class TakenMeanwhile(Exception):
    """Another run has just taken it."""


class Origins:
    """Those of one source. Each is written in the transaction that makes its row."""

    def __init__(self, source: str) -> None:
        self._rows = Origin.objects.filter(source=source)
        self._source = source

    def find(self, kind: str, old_key: str) -> Origin | None:
        return self._rows.filter(kind=kind, old_key=old_key).first()

    def note(self, kind: str, old_key: str, row: int, *, now: datetime, finished: bool = False) -> None:
        """In the caller's transaction, which raises TakenMeanwhile where another run was quicker."""
        values = {"row": row, "taken_at": now, "finished_at": now if finished else None}
        try:
            with transaction.atomic():
                Origin.objects.create(source=self._source, kind=kind, old_key=old_key, **values)
        except IntegrityError as error:
            raise TakenMeanwhile from error

    def renew(self, origin: Origin, row: int) -> None:
        """Another row stands for it now, whose making is not finished."""
        self._rows.filter(pk=origin.pk).update(row=row, finished_at=None)

    def finish(self, kind: str, old_key: str, *, now: datetime) -> None:
        self._rows.filter(kind=kind, old_key=old_key, finished_at=None).update(finished_at=now)
