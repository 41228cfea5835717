"""`alter_lane NAME`: the limits of an outgoing account, or of one recipients' domain in it."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.core.management.base import CommandError, CommandParser

from common.cli.commands import FeedletterCommand, Result
from common.clock import utcnow
from delivery.issues.pause import PAUSED_BY_HAND
from delivery.lanes.settings import (
    alter_domain,
    alter_lane,
    drop_domain,
    pause_domain,
    pause_lanes,
    recipient_domain,
    resume_domain,
    resume_lanes,
)
from delivery.lanes.status import domain_standings
from delivery.management.lanes import add_limits, domain_row, find_lane, given_limits, lane_row
from delivery.models import Delivery, Lane


class Command(FeedletterCommand):
    help = "Changes the limits of a lane, or with --domain those of one recipients' domain in it."
    option_names = {"concurrency": "--connections"}  # noqa: RUF012

    def add_options(self, parser: CommandParser) -> None:
        parser.add_argument("name", metavar="NAME", help="“default” is EMAIL_URL's; “list_lanes” shows them.")
        parser.add_argument("--domain", metavar="D", help="Only for recipients there, such as gmail.com.")
        add_limits(parser)
        act = parser.add_mutually_exclusive_group()
        act.add_argument("--pause", action="store_true", help="Nothing goes out there until it is resumed.")
        act.add_argument("--resume", action="store_true", help="Send again, and try at once.")
        act.add_argument("--forget", action="store_true", help="With --domain: it has no limits any more.")
        parser.add_argument("--reason", default="", help="With --pause: for whoever finds it paused.")

    def run(self, **options: Any) -> Result:
        changes, now = given_limits(options), utcnow()
        if not changes and not (options["pause"] or options["resume"] or options["forget"]):
            raise CommandError("There is nothing to change: give at least one limit, --pause or --resume.")
        if options["reason"] and not options["pause"]:
            raise CommandError("--reason: give it together with --pause.")
        lane = find_lane(options["name"])
        if options["domain"] is not None:
            return of_domain(lane, recipient_domain(options["domain"]), changes, now, options)
        if options["forget"]:
            raise CommandError("--forget: give --domain, too.")
        return of_lane(lane, changes, now, options)


def of_lane(lane: Lane, changes: dict[str, Any], now: datetime, options: Mapping[str, Any]) -> Result:
    if changes:
        alter_lane(lane=lane, **changes)
    if options["pause"]:
        pause_lanes(lane_ids=[lane.pk], reason=options["reason"] or PAUSED_BY_HAND)
    if options["resume"]:
        resume_lanes(lane_ids=[lane.pk], now=now)
    lane.refresh_from_db()
    return lane_row(lane, unsent=Delivery.objects.filter(lane=lane).unsent(), now=now)


def of_domain(
    lane: Lane, domain: str, changes: dict[str, Any], now: datetime, options: Mapping[str, Any]
) -> Result:
    if "messages_per_connection" in changes:
        raise CommandError("--messages-per-connection: it is the lane's; leave out --domain.")
    if "per_recipient" in changes:
        raise CommandError("--per-recipient: it is the lane's; leave out --domain.")
    if options["forget"]:
        drop_domain(lane_id=lane.pk, domain=domain, now=now)
        return [domain_row(row, now=now) for row in domain_standings(lane, now)]
    if changes:
        alter_domain(lane=lane, domain=domain, now=now, **changes)
    if options["pause"]:
        reason = options["reason"] or PAUSED_BY_HAND
        pause_domain(lane_id=lane.pk, domain=domain, reason=reason, now=now)
    if options["resume"]:
        resume_domain(lane_id=lane.pk, domain=domain, now=now)
    shown = [row for row in domain_standings(lane, now) if row.row.domain == domain]
    if not shown:
        raise CommandError(f"{domain} has no limits in the lane {lane.account}: there is nothing to resume.")
    return domain_row(shown[0], now=now)
