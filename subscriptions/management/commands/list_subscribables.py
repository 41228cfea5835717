"""`list_subscribables`: newsletters and bridges."""

from typing import Any

from django.core.management.base import CommandParser

from common.cli.arguments import add_paging, page
from common.cli.commands import FeedletterCommand, Result
from common.clock import utcnow
from subscriptions.management.rows import subscribable_row, with_counts
from subscriptions.models import Subscribable


class Command(FeedletterCommand):
    help = "Lists newsletters and bridges, with what they collect and when it closes."
    empty = "There are no newsletters yet. Define one: define_subscribable NAME --feed ID"

    def add_options(self, parser: CommandParser) -> None:
        add_paging(parser, key="NAME", kind=str)

    def run(self, **options: Any) -> Result:
        now = utcnow()
        rows = page(with_counts(Subscribable.objects.all()), options, key="name")
        return (subscribable_row(row, now=now) for row in rows)
