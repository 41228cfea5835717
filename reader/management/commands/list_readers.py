from typing import Any

from django.db.models import Count

from common.cli.commands import FeedletterCommand, Result
from reader.management.rows import reader_row
from reader.models import Reader


class Command(FeedletterCommand):
    help = "Lists who reads here."
    empty = "Nobody reads here yet. Let somebody: add_reader NAME"

    def run(self, **options: Any) -> Result:
        readers = Reader.objects.select_related("user").annotate(
            channel_count=Count("channels", distinct=True), follow_count=Count("channels__follows")
        )
        return (reader_row(row, channels=row.channel_count, follows=row.follow_count) for row in readers)
