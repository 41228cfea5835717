"""A copy of the database in BACKUP_DIR each night, and the deletion of old ones."""

import logging
import re
from collections.abc import Iterable
from datetime import date, datetime, timedelta
from pathlib import Path

from django.conf import settings
from django.utils import timezone

from feedletter_site.models import Figure
from feedletter_site.services.backups import BackupError, back_up, note_back_up

log = logging.getLogger(__name__)

# Of the site's time zone.
HOUR = 3
BACKUP_NAME = "backup"
LEAST_KEPT = 7
# And what a killed worker left of one.
COPY = re.compile(r"feedletter-\d{4}-\d{2}-\d{2}(?:\.\w+\.part)?")


def name_of(day: date) -> str:
    return f"feedletter-{day}"


def is_due(names: Iterable[str], local: datetime) -> bool:
    return local.hour >= HOUR and name_of(local.date()) not in names


def old_backups(names: Iterable[str], today: date, keep_days: int) -> list[str]:
    """Return the copies to be deleted. Other files stay."""
    oldest = name_of(today - timedelta(days=keep_days))
    return [name for name in names if COPY.fullmatch(name) and name < oldest]


def back_up_tonight(*, now: datetime) -> None:
    """Copies stay while backups fail: old ones are deleted after a new one is there."""
    if not settings.BACKUP_DIR:
        return
    folder, local = Path(settings.BACKUP_DIR), timezone.localtime(now)
    problem = ""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not is_due([each.name for each in folder.iterdir()], local):
            return
        size = back_up(folder / name_of(local.date()))
        names = sorted(each.name for each in folder.iterdir() if COPY.fullmatch(each.name))
        # A clock that jumps ahead must not delete them all.
        least = min(LEAST_KEPT, max(settings.BACKUP_KEEP_DAYS, 1))
        for name in old_backups(names[:-least], local.date(), settings.BACKUP_KEEP_DAYS):
            (folder / name).unlink()
    except (BackupError, OSError) as error:
        problem = str(error)
        log.error("the nightly backup failed: %s", problem)
    else:
        log.info("a backup of %s bytes is in %s", size, folder)
        note_back_up()
    Figure.objects.update_or_create(
        pk=BACKUP_NAME, defaults={"value": {"problem": problem}, "counted_at": now}
    )
