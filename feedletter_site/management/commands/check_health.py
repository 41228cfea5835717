from typing import Any

from django.core.management import CommandError

from common.cli.commands import FeedletterCommand
from common.clock import utcnow
from feedletter_site.monitoring.stages import StageStatus, stage_statuses, what_is_missing


class Command(FeedletterCommand):
    help = (
        "Shows when each stage last ran and how much work is waiting. Exits with 1 if a stage does not run."
    )

    trouble = ""

    def handle(self, *args: Any, **options: Any) -> None:
        super().handle(*args, **options)
        if self.trouble:
            raise CommandError(self.trouble)

    def run(self, **options: Any) -> list[dict[str, Any]]:
        if reason := what_is_missing():
            raise CommandError(reason)
        statuses = stage_statuses(utcnow())
        self.trouble = " ".join(one.trouble for one in statuses if one.trouble)
        return [row(one) for one in statuses]


def row(one: StageStatus) -> dict[str, Any]:
    """Return ages in seconds."""
    return {
        "stage": one.stage,
        "every": round(one.interval.total_seconds()),
        "last_run": round(one.ran.total_seconds()) if one.has_run else None,
        "last_tick": round(one.ticked.total_seconds()) if one.ticked is not None else None,
        "oldest_due": round(one.oldest.total_seconds()),
        "trouble": one.trouble,
    }
