import sys
from argparse import ArgumentTypeError
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from getpass import getpass
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from channels import channel
from channels.rules.accounts import DEFAULT_ACCOUNT
from common.cli.commands import FeedletterCommand, Result, argument
from common.clock import utcnow
from common.text import words
from delivery.accounts.accounts import add_account, alter_account, make_default
from delivery.issues.pause import PAUSED_BY_HAND
from delivery.lanes.lanes import (
    DomainStanding,
    domain_standings,
    in_words,
    lane_for,
    lane_state,
    lane_status,
    mail_lane,
    unsent_by_lane,
)
from delivery.lanes.limits import (
    alter_domain,
    alter_lane,
    drop_domain,
    pause_domain,
    pause_lanes,
    recipient_domain,
    resume_domain,
    resume_lanes,
)
from delivery.models import Account, Delivery, Lane, ServiceAccount
from delivery.models.delivery import Unsent
from delivery.resources.accounts import accounts

NONE = "none"


HINT = "“list_lanes” lists them."
FIELDS_OF_OPTIONS = {"connections": "concurrency"}
LONGEST = 4096
# Not in tables, where “limits” sums them up.
FOR_PROGRAMS = words(
    "kind server_takes messages_per_connection"
    " rate burst per_hour per_day per_recipient today warm_up_from warm_up_first warm_up_growth"
)


def add_limits(parser: CommandParser) -> None:
    """An option for each limit; `none` takes it away."""
    limits = parser.add_argument_group("limits (“none” takes one away)")
    for name, parse, metavar, text in LIMITS:
        limits.add_argument(f"--{name.replace('_', '-')}", type=parse, metavar=metavar, help=text)


def given_limits(options: Mapping[str, Any]) -> dict[str, Any]:
    """The limits that were given, by the names of their fields."""
    given = {
        FIELDS_OF_OPTIONS.get(name, name): options[name] for name, *_ in LIMITS if options[name] is not None
    }
    return {name: None if value == NONE else value for name, value in given.items()}


def find_lane(name: str) -> Lane:
    """The lane of that name: a mail account's, or as “list_lanes” writes it. Raises CommandError."""
    kind, _, account = name.partition(":")
    rows = Lane.objects.filter(account=name) | Lane.objects.filter(kind=kind, account=account)
    found = list(rows[:2])
    if len(found) == 1:
        return found[0]
    if found:
        raise CommandError(f"There are several lanes {name}: say which, such as {found[0].kind}:{name}.")
    if name == DEFAULT_ACCOUNT or Account.objects.mail().filter(name=name).exists():
        return mail_lane(name)
    services = ServiceAccount.objects.filter(kind=kind, name=account)
    # Where an account's lane carries all of it, and is no bot's many.
    if services.exists() and channel(kind).account_lane is None:
        return lane_for(kind=kind, core="", options={"account": account})
    raise CommandError(f"There is no lane {name}. {HINT}")


def lane_row(lane: Lane, *, unsent: Unsent, now: datetime) -> dict[str, Any]:
    """Needs its domains prefetched."""
    now_used = lane_status(lane, now)
    return {
        "name": lane.name,
        "kind": lane.kind,
        "state": lane_state(lane, now),
        "waiting": unsent.waiting,
        "held": unsent.held,
        "connections": lane.concurrency,
        "server_takes": lane.server_takes,
        "messages_per_connection": lane.messages_per_connection,
        "limits": in_words(lane, now),
        **_limits(lane),
        "per_recipient": lane.per_recipient,
        "last_hour": now_used.used.hour if now_used.counts else None,
        "last_day": now_used.used.day if now_used.counts else None,
        "today": now_used.today,
        "domains": [row.domain for row in lane.domains.all()],
        "last_error": lane.last_error,
    }


def domain_row(shown: DomainStanding, *, now: datetime) -> dict[str, Any]:
    row = shown.row
    return {
        "domain": row.domain,
        "state": lane_state(row, now),
        "held": shown.held,
        "at_a_time": row.concurrency,
        "limits": in_words(row, now),
        **_limits(row),
        "last_hour": shown.used.hour,
        "last_day": shown.used.day,
        "today": shown.today,
        "why": row.paused_reason or row.last_error,
    }


def _limits(row: Any) -> dict[str, Any]:
    names = ("rate", "burst", "per_hour", "per_day", "warm_up_from", "warm_up_first", "warm_up_growth")
    values = {name: getattr(row, name) for name in names}
    return {name: value.isoformat() if isinstance(value, date) else value for name, value in values.items()}


def positive(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 0 < int(text[:10]) < 2**31:
        raise ArgumentTypeError("give a whole number, 1 or more.")
    return int(text)


def rate(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1e6:
        raise ArgumentTypeError("give a number above 0, such as 10 or 0.5.")
    return value


def day(text: str) -> date:
    try:
        return timezone.localdate() if text == "today" else date.fromisoformat(text)
    except ValueError:
        raise ArgumentTypeError("give a date such as 2026-03-02, or “today”.") from None


def or_none(parse: Callable[[str], Any]) -> Callable[[str], Any]:
    return lambda text: NONE if text == NONE else parse(text)


# Name, parser, placeholder and help of each.
LIMITS: Sequence[tuple[str, Callable[[str], Any], str, str]] = (
    ("connections", or_none(positive), "N", "Open at once; of a domain: messages."),
    ("messages_per_connection", positive, "N", "Then a new one is opened."),
    ("rate", or_none(rate), "R", "Messages a second, such as 10 or 0.5."),
    ("burst", positive, "N", "How many may go at once after a rest."),
    ("per_hour", or_none(positive), "N", "Most in any hour."),
    ("per_day", or_none(positive), "N", "Most in any 24 hours."),
    (
        "per_recipient",
        or_none(positive),
        "N",
        "Most to one recipient in a day of UTC, of messages that cost.",
    ),
    ("warm_up_from", or_none(day), "DATE", "2026-03-02, or “today”."),
    ("warm_up_first", positive, "N", "Messages on its first day."),
    ("warm_up_growth", rate, "F", "Times as many each day, such as 1.5."),
)


def url_file(name: str) -> str:
    try:
        with Path(name).open(encoding="utf-8-sig") as file:
            return file.read(LONGEST).strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise ArgumentTypeError(f"“{name}” cannot be read: {reason}.") from error


class AddAccount(FeedletterCommand):
    help = (
        "Adds a mail account. Its URL, which holds the password, is asked for, or read from stdin or a file."
    )
    option_names = {"name": "NAME", "url": "--url-file", "sender": "--from"}  # noqa: RUF012
    arguments = (
        argument("name", metavar="NAME", help="a–z, 0–9 and dashes, such as second-server."),
        argument(
            "--url-file", type=url_file, dest="url", metavar="FILE", help="Holds a URL like EMAIL_URL's."
        ),
        argument(
            "--from", dest="sender", metavar="SENDER", help="Such as “Example News <news@example.org>”."
        ),
        argument(
            "--default",
            action="store_true",
            help="It carries what names no account, unless EMAIL_URL is set.",
        ),
        argument("--replace", action="store_true", help="Give an account that is there another URL."),
    )

    def run(self, **options: Any) -> Result:
        url = options["url"] if options["url"] is not None else asked()
        if options["replace"]:
            account = alter_account(account=accounts.find(options["name"]), url=url, sender=options["sender"])
        else:
            account = add_account(name=options["name"], url=url, sender=options["sender"] or "")
        if options["default"]:
            make_default(account=account)
        return accounts.shown(account)


def asked() -> str:
    """Read the URL without echo, or from a pipe. In an argument, the list of processes would show it."""
    return getpass("URL: ") if sys.stdin.isatty() else sys.stdin.readline(LONGEST).strip()


class ListLanes(FeedletterCommand):
    help = "Lists the lanes that messages go out through, with limits and use; with NAME, its domains."
    empty = "There is nothing to show: the first message creates a lane, the first limit a domain."
    arguments = (
        argument("name", nargs="?", metavar="NAME", help="Show the domains with limits in this one."),
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


class AlterLane(FeedletterCommand):
    help = "Changes the limits of a lane, or with --domain of one recipients' domain in it."
    option_names = {"concurrency": "--connections"}  # noqa: RUF012

    def add_options(self, parser: CommandParser) -> None:
        parser.add_argument("name", metavar="NAME", help="“default” is EMAIL_URL's; “list_lanes” shows them.")
        parser.add_argument("--domain", metavar="D", help="Only for recipients there, such as gmail.com.")
        add_limits(parser)
        act = parser.add_mutually_exclusive_group()
        act.add_argument("--pause", action="store_true", help="Send nothing there until it is resumed.")
        act.add_argument("--resume", action="store_true", help="Send again, and try at once.")
        act.add_argument("--forget", action="store_true", help="With --domain: remove its limits.")
        parser.add_argument("--reason", default="", help="With --pause: shown in the admin.")

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
