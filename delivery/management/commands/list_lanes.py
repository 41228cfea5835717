"""`list_lanes [NAME]`: the outgoing accounts with their limits, or the domains with limits in one."""

from typing import Any

from django.core.management.base import CommandParser

from common.cli.commands import FeedletterCommand, Result
from common.clock import utcnow
from common.text import words
from delivery.lanes.status import domain_standings, unsent_by_lane
from delivery.management.lanes import domain_row, find_lane, lane_row
from delivery.models import Lane
from delivery.models.delivery import Unsent

# For people: what the words of “limits” say already is for programs.
FOR_PROGRAMS = words(
    "kind server_takes messages_per_connection"
    " rate burst per_hour per_day per_recipient today warm_up_from warm_up_first warm_up_growth"
)


class Command(FeedletterCommand):
    help = "Lists the lanes that messages go out through, with limits and use; with NAME, its domains."
    empty = "There is nothing to show: a lane comes with the first message, a domain with its first limit."

    def add_options(self, parser: CommandParser) -> None:
        parser.add_argument(
            "name", nargs="?", metavar="NAME", help="Show the domains with limits in this one."
        )

    def run(self, **options: Any) -> Result:
        now = utcnow()
        if options["name"]:
            rows = [domain_row(row, now=now) for row in domain_standings(find_lane(options["name"]), now)]
        else:
            unsent = unsent_by_lane()
            lanes = Lane.objects.prefetch_related("domains")
            rows = [lane_row(lane, unsent=unsent.get(lane.pk, Unsent()), now=now) for lane in lanes]
        if options["json"]:
            return rows
        return [{name: value for name, value in row.items() if name not in FOR_PROGRAMS} for row in rows]
