"""What commands say about lanes, mail accounts and limits, and how they ask for limits."""

from argparse import ArgumentTypeError
from collections.abc import Callable, Mapping
from datetime import date, datetime
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from channels import channel
from channels.rules.accounts import DEFAULT_ACCOUNT
from delivery.accounts.accounts import newsletters_of, server_of
from delivery.lanes.lanes import lane_for, mail_lane
from delivery.lanes.status import DomainStanding, in_words, lane_state, lane_status
from delivery.models import Account, Lane
from delivery.models.delivery import Unsent

NONE = "none"
HINT = "“list_lanes” shows those there are."


def add_limits(parser: CommandParser) -> None:
    """An option for each limit; `none` takes it away."""
    limits = parser.add_argument_group("limits (“none” takes one away)")
    limits.add_argument(
        "--connections", type=or_none(positive), metavar="N", help="Open at once; of a domain: messages."
    )
    limits.add_argument(
        "--messages-per-connection", type=positive, metavar="N", help="Then a new one is opened."
    )
    limits.add_argument(
        "--rate", type=or_none(rate), metavar="R", help="Messages a second, such as 10 or 0.5."
    )
    limits.add_argument("--burst", type=positive, metavar="N", help="How many may go at once after a rest.")
    limits.add_argument("--per-hour", type=or_none(positive), metavar="N", help="Most in any hour.")
    limits.add_argument("--per-day", type=or_none(positive), metavar="N", help="Most in any 24 hours.")
    limits.add_argument(
        "--per-recipient",
        type=or_none(positive),
        metavar="N",
        help="Most to one recipient in a day of UTC, of messages that cost.",
    )
    limits.add_argument("--warm-up-from", type=or_none(day), metavar="DATE", help="2026-03-02, or “today”.")
    limits.add_argument("--warm-up-first", type=positive, metavar="N", help="Messages on its first day.")
    limits.add_argument(
        "--warm-up-growth", type=rate, metavar="F", help="Times as many each day, such as 1.5."
    )


FIELDS_OF_OPTIONS = {"connections": "concurrency"}
LIMIT_OPTIONS = (
    "connections", "messages_per_connection", "rate", "burst", "per_hour", "per_day",
    "per_recipient", "warm_up_from", "warm_up_first", "warm_up_growth",
)  # fmt: skip


def given_limits(options: Mapping[str, Any]) -> dict[str, Any]:
    """The limits that were given, by the names of their fields."""
    given = {
        FIELDS_OF_OPTIONS.get(name, name): options[name]
        for name in LIMIT_OPTIONS
        if options[name] is not None
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
    services = Account.objects.of_services().filter(kind=kind, name=account)
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


def account_row(account: Account) -> dict[str, Any]:
    """Without its URL, which holds the password."""
    return {
        "name": account.name,
        "server": server_of(account),
        "sender": account.sender,
        "default": account.is_default,
        "newsletters": [row.name for row in newsletters_of(account)],
        "created_at": account.created_at,
    }


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
