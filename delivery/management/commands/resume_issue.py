"""`resume_issue ID`: what was held goes on."""

from typing import Any

from django.core.management.base import CommandParser

from common.clock import utcnow
from common.commands import FeedletterCommand, Result
from common.panels import CannotAct
from delivery.management.issue_rows import add_issue, find_issue, shown
from delivery.services.pausing import resume_issue


class Command(FeedletterCommand):
    help = "Lets a paused issue go on."
    mistakes = (CannotAct,)

    def add_options(self, parser: CommandParser) -> None:
        add_issue(parser)

    def run(self, **options: Any) -> Result:
        pk = find_issue(options["id"]).pk
        resume_issue(issue_id=pk, now=utcnow())
        return shown(pk)
