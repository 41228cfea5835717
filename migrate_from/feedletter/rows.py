"""feedletter 0.2, the Scala program that Feedletter succeeds: interpretation of its rows. Pure.

Its times are wall-clock times of the Java machine that ran it, without a time zone.
"""

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time, timedelta
from email.utils import formataddr
from pathlib import Path
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from common.formats.pg_dump import PLAIN, START, refuse_unless_plain
from common.refused import Refused
from common.text import one_line, without_controls
from migrate_from.feedletter.dump import Row, read_database, read_dump, text
from migrate_from.feedletter.environment import environment, notes_about
from migrate_from.feedletter.queues import asked_by, dropped, with_queues
from migrate_from.records import (
    EACH,
    FIXED,
    Contents,
    Fate,
    ImportResult,
    Line,
    OldAccount,
    OldCollection,
    OldFeed,
    OldNewsletter,
    OldPost,
    OldSubscriber,
    Options,
)

# Our limits of a feed's timings, in minutes.
LONGEST_DELAY = 44_640
LONGEST_PARAM, MOST_PARAMS = 2000, 50
# A collection that is over and was opened longer ago would send old posts at once (BUG-6 and BUG-8).
STALE_AFTER = timedelta(days=7)
CLOCKS_DIFFER = timedelta(minutes=10)
STALE = "Its issue in feedletter was over and never sent."
# Posts that it assigned to nothing had been refused or sent (BUG-18).
FATES = {"Unassigned": Fate.UNSENT, "Excluded": Fate.KNOWN, "Assigned": Fate.SENT}
ARRANGEMENTS = {"Email.Each": EACH, "Email.Daily": "daily", "Email.Weekly": "weekly", "Email.Fixed": FIXED}
DEFAULTS, STARTERS = "com.mchange.feedletter.default.", "starter."
UNTEMPLATES = {
    "composeUntemplateName": "issues/post or issues/digest",
    "confirmUntemplateName": "mails/confirmation",
    "statusChangeUntemplateName": "the pages",
    "removalNotificationUntemplateName": "mails/farewell",
}


class Announced(NamedTuple):
    """Kind of a bridge: how its accounts are named there and here."""

    channel: str
    destination: str
    account: str
    server: str
    fields: Mapping[str, str]
    token_field: str
    secret: str


MASTODON = Announced(
    "mastodon",
    "Mastodon",
    "name",
    "instanceUrl",
    {"name": "account", "instanceUrl": "instance_url"},
    "access_token",
    "feedletter.masto.access.token.",
)
BLUESKY = Announced(
    "bluesky",
    "BlueSky",
    "identifier",
    "entrywayUrl",
    {"identifier": "handle", "entrywayUrl": "service_url"},
    "app_password",
    "feedletter.bsky.identifier.",
)
BRIDGES = {"Mastodon.Announce": MASTODON, "BlueSky.Announce": BLUESKY}


@dataclass(slots=True)
class _Context:
    zone: ZoneInfo
    config_zone: str
    now: datetime
    options: Options
    subscriptions: Mapping[str, list[Row]]
    collections: Mapping[str, list[Row]]
    guids: Mapping[tuple[str, str], list[str]]
    unasked: Set[tuple[str, str]]
    lines: list[Line] = field(default_factory=list)

    def line(self, result: ImportResult, kind: str, name: str, words: str) -> None:
        self.lines.append(Line(result, kind, name, words))


def read(place: str, *, options: Options, now: datetime) -> Contents:
    """Read a plain dump, or the database at a URL. Raises Refused."""
    try:
        tables, sessions = _tables(place)
        return replace(interpret(tables, options=options, now=now), sessions=sessions)
    except Refused:
        raise
    except (ValueError, KeyError, TypeError, OverflowError) as error:
        raise Refused(f"The database is damaged: {type(error).__name__}, {str(error)[:200]}") from error


def _tables(place: str) -> tuple[Mapping[str, Sequence[Row]], int]:
    if place.startswith(("postgres://", "postgresql://")):
        return read_database(place)
    try:
        with Path(place).open("rb") as file:
            refuse_unless_plain(file.read(START))
        with Path(place).open(encoding="utf-8", newline="\n") as stream:
            return read_dump(stream), 0
    except IsADirectoryError as error:
        raise Refused(f"{place} is a folder. {PLAIN}") from error
    except (OSError, UnicodeDecodeError) as error:
        raise Refused(f"{place} can’t be read: {error}. {PLAIN}") from error


def interpret(tables: Mapping[str, Sequence[Row]], *, options: Options, now: datetime) -> Contents:
    zone = ZoneInfo(options.zone)
    config = {text(row, "key"): text(row, "value") for row in tables["config"]}
    guids = defaultdict(list)
    for row in tables["assignment"]:
        guids[text(row, "subscribable_name"), text(row, "within_type_id")].append(text(row, "guid"))
    newsletters, items = _by(tables["subscribable"], "feed_id"), _by(tables["item"], "feed_id")
    context = _Context(
        zone,
        config.get("TimeZone", ""),
        now,
        options,
        _by(tables["subscription"], "subscribable_name"),
        _by(tables["assignable"], "subscribable_name"),
        guids,
        frozenset(map(asked_by, tables["immediately_mailable"])),
    )
    feeds = [
        _feed(row, items.get(text(row, "id"), ()), newsletters.get(text(row, "id"), ()), context)
        for row in sorted(tables["feed"], key=lambda row: int(text(row, "id")))
    ]
    feeds, refused = with_queues(feeds, tables)
    if not options.keeps_queued:
        refused = list(dropped(feeds, tables))
    last = [feed.read_until for feed in feeds if feed.read_until]
    notes = notes_about(config, options.secrets, last, zone)
    settings = environment(config, options.secrets)
    numbers = frozenset(int(text(row, "subscription_id")) for row in tables["subscription"])
    return Contents(feeds, [*refused, *context.lines], notes, settings, numbers)


def moment(text: str, zone: ZoneInfo, after: datetime | None = None) -> datetime:
    """Return a wall-clock time in UTC.

    A time that exists twice is the first one, unless that is not after `after`, the row's predecessor.
    """
    wall = datetime.fromisoformat(text).replace(tzinfo=zone)
    first = wall.astimezone(UTC)
    if after is not None and first <= after:
        return max(first, wall.replace(fold=1).astimezone(UTC))
    return first


def _feed(row: Row, items: Sequence[Row], newsletters: Sequence[Row], context: _Context) -> OldFeed:
    url, zone = text(row, "url"), context.zone
    shortest, longest = (_minutes(row, f"{which}_delay_minutes") for which in ("min", "max"))
    timings = {
        "min_delay_minutes": shortest,
        "await_stabilization_minutes": _minutes(row, "await_stabilization_minutes"),
        "max_delay_minutes": max(shortest, longest),
        "recheck_every_minutes": _minutes(row, "assign_every_minutes"),
    }
    made = [each for each in (_newsletter(one, context) for one in newsletters) if each is not None]
    collections = [one for each in made for one in each.collections]
    waiting = {guid for one in collections if not one.is_stale for guid in one.guids}
    stale = {guid for one in collections if one.is_stale for guid in one.guids} - waiting
    posts = []
    for item in items:
        guid, link, fate = text(item, "guid"), text(item, "link"), text(item, "assignability")
        if not guid:
            context.line(ImportResult.REFUSED, "post", link or url, "It has an empty guid.")
            continue
        posts.append(
            OldPost(
                guid=without_controls(guid),
                at=moment(text(item, "first_seen"), zone),
                fate=Fate.KNOWN
                if guid in stale
                else Fate.WAITING
                if fate == "Assigned" and guid in waiting
                else FATES.get(fate, Fate.SENT),
                link=without_controls(link),
                document=text(item, "single_item_rss"),
                stable_since=moment(text(item, "stable_since"), zone),
                reason=STALE if guid in stale else "",
            )
        )
    return OldFeed(
        # Of several databases, whatever their time zone is said to be.
        key=f"{text(row, 'id')}-{hashlib.sha256(url.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}",
        name=url,
        url=url,
        read_from=min(moment(text(row, "added"), zone), context.now),
        read_until=_read_until(row, context),
        posts=tuple(posts),
        newsletters=tuple(made),
        timings=timings,
        knows_all=True,
    )


def _read_until(row: Row, context: _Context) -> datetime:
    """Raises Refused for a time in the future."""
    at = moment(text(row, "last_assigned"), context.zone)
    if at > context.now + CLOCKS_DIFFER:
        raise Refused(
            f"{context.zone.key} can’t be the time zone of the machine that ran feedletter: it read a feed on"
            f" {at:%Y-%m-%d at %H:%M} UTC, which would be in the future."
        )
    return min(at, context.now)


def _newsletter(row: Row, context: _Context) -> OldNewsletter | None:
    name = text(row, "subscribable_name")
    manager = _json(row, "subscription_manager_json")
    kind = str(manager.get("type", ""))
    if kind not in ARRANGEMENTS.keys() | BRIDGES.keys() or manager.get("version", 1) != 1:
        words = f"Feedletter doesn’t know its kind, “{one_line(kind)[:60]}”. Add the newsletter by hand."
        context.line(ImportResult.REFUSED, "newsletter", name, words)
        return None
    if kind in BRIDGES:
        return _bridge(name, BRIDGES[kind], manager, context)
    arrangement = ARRANGEMENTS[kind]
    newsletter = OldNewsletter(
        name=name,
        arrangement=arrangement,
        zone=_zone(manager, context),
        sender=_mailbox(manager.get("from")),
        reply_to=_mailbox(manager.get("replyTo")),
        params=_params(manager, name, context),
        n=max(1, int(manager.get("numItemsPerLetter", 1))) if arrangement == FIXED else None,
        # Its weeks begin on the weekday that 7 January has this year.
        weekday=date(context.now.year, 1, 7).weekday() if arrangement == "weekly" else 0,
        keeps_subjects=True,
        subscribers=tuple(_subscribers(name, context)),
    )
    for key, ours in UNTEMPLATES.items():
        untemplate = str(manager.get(key, ""))
        if untemplate and not untemplate.startswith((DEFAULTS, STARTERS)):
            words = (
                f"Its untemplate {one_line(untemplate)[:200]} is compiled Scala and can’t be imported. The"
                f" template here is {ours}, with the same %Fields%."
            )
            context.line(ImportResult.CHANGED, "untemplate", name, words)
    return _with_collections(newsletter, text(row, "last_completed_wti"), context)


def _bridge(name: str, kind: Announced, manager: Mapping[str, Any], context: _Context) -> OldNewsletter:
    accounts, last = [], None
    for row in _by_number(context.subscriptions.get(name, ())):
        old = _json(row, "destination_json")
        last = moment(text(row, "added"), context.zone, last)
        account = one_line(str(old.get(kind.account) or "?"))[:100]
        if old.get("type") != kind.destination or text(row, "confirmed") != "t":
            words = "It isn’t an account that this bridge posted to."
            context.line(ImportResult.REFUSED, "account", f"{account} of {name}", words)
            continue
        accounts.append(
            OldAccount(
                number=int(text(row, "subscription_id")),
                old_name=(str(old.get(kind.account, "")), str(old.get(kind.server, ""))),
                fields=tuple((ours, str(old.get(theirs, ""))) for theirs, ours in kind.fields.items()),
                token_field=kind.token_field,
                token=context.options.secrets.get(f"{kind.secret}{old.get(kind.account)}", ""),
                added=min(last, context.now),
            )
        )
    bridge = OldNewsletter(
        name=name,
        zone=_zone(manager, context),
        params=_params(manager, name, context),
        channel=kind.channel,
        accounts=tuple(accounts),
    )
    return _with_collections(bridge, "", context)


def _subscribers(name: str, context: _Context) -> Iterator[OldSubscriber]:
    last = None
    for row in _by_number(context.subscriptions.get(name, ())):
        old = _json(row, "destination_json")
        last = moment(text(row, "added"), context.zone, last)
        if old.get("type") != "Email":
            where = one_line(str(old.get("number") or old.get("name") or old.get("identifier") or "?"))[:100]
            kind = {"Sms": "SMS numbers"}.get(str(old.get("type")), "Accounts")
            words = f"{kind} never got this newsletter."
            context.line(ImportResult.REFUSED, "subscriber", f"{where} of {name}", words)
            continue
        address, is_confirmed = str(old.get("addressPart", "")), text(row, "confirmed") == "t"
        yield OldSubscriber(
            number=int(text(row, "subscription_id")),
            address=address,
            name=one_line(str(old.get("displayNamePart") or "")),
            is_confirmed=is_confirmed,
            added=min(last, context.now),
            is_unasked=not is_confirmed and (name, address) in context.unasked,
        )


def _by_number(rows: Iterable[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: int(text(row, "subscription_id")))


def _with_collections(newsletter: OldNewsletter, completed: str, context: _Context) -> OldNewsletter:
    name, collections = newsletter.name, []
    numbers = [int(completed)] if completed.isascii() and completed.isdigit() else []
    for row in sorted(context.collections.get(name, ()), key=lambda row: text(row, "opened")):
        label, opened = text(row, "within_type_id"), moment(text(row, "opened"), context.zone)
        guids = tuple(dict.fromkeys(context.guids.get((name, label), ())))
        number = int(label) if label.isascii() and label.isdigit() else 0
        if newsletter.arrangement == EACH:
            words = f"{label[:100]} waited in an issue of a single post that never was completed."
            context.line(ImportResult.REFUSED, "issue", name, words)
            is_stale = True
        elif newsletter.arrangement == FIXED:
            is_stale = len(guids) >= (newsletter.n or 1)
            numbers.append(number if is_stale else number - 1)
        else:
            is_stale = _end_of_period(opened, newsletter) <= context.now
        is_stale = is_stale and (
            newsletter.arrangement == EACH
            or (context.now - opened > STALE_AFTER and not context.options.sends_stale)
        )
        if is_stale and newsletter.arrangement != EACH:
            words = (
                f"Its issue {label}, opened on {opened:%Y-%m-%d}, was over and never sent. Its posts aren’t"
                " sent. Use --stale send to send them."
            )
            context.line(ImportResult.REFUSED, "issue", name, words)
        collections.append(OldCollection(opened, guids, is_stale, number))
    return replace(newsletter, collections=tuple(collections), counter=max(numbers, default=0) + 1)


def _end_of_period(opened: datetime, newsletter: OldNewsletter) -> datetime:
    zone = ZoneInfo(newsletter.zone)
    day, days = opened.astimezone(zone).date(), 1
    if newsletter.arrangement == "weekly":
        days = 7 - (day.weekday() - newsletter.weekday) % 7
    return datetime.combine(day + timedelta(days), time(0), zone)


def _zone(manager: Mapping[str, Any], context: _Context) -> str:
    for name in (manager.get("timeZone"), context.config_zone):
        if name:
            try:
                return ZoneInfo(str(name)).key
            except (ValueError, OSError):
                continue
    return context.zone.key


def _params(manager: Mapping[str, Any], name: str, context: _Context) -> dict[str, str]:
    params: dict[str, str] = {}
    old = manager.get("extraParams")
    for key, value in (old if isinstance(old, dict) else {}).items():
        text = value if isinstance(value, str) else json.dumps(value)
        if str(key).isidentifier() and len(str(key)) <= 64 and len(text) <= LONGEST_PARAM:
            params[str(key)] = without_controls(text)
        else:
            words = f"Its parameter “{one_line(str(key))[:64]}” needs another name, of letters, digits and _."
            context.line(ImportResult.REFUSED, "parameter", name, words)
    for key in list(params)[MOST_PARAMS:]:
        del params[key]
        words = f"Its parameter “{key}” is left out: {MOST_PARAMS} are the most."
        context.line(ImportResult.REFUSED, "parameter", name, words)
    return params


def _mailbox(value: Any) -> str:
    if not isinstance(value, dict):
        return ""
    address = one_line(str(value.get("addressPart", "")))
    name = one_line(str(value.get("displayNamePart") or ""))
    return formataddr((name, address)) if name and address.isascii() else address


def _by(rows: Iterable[Row], key: str) -> dict[str, list[Row]]:
    groups = defaultdict(list)
    for row in rows:
        groups[text(row, key)].append(row)
    return groups


def _minutes(row: Row, key: str) -> int:
    return max(0, min(int(text(row, key) or 0), LONGEST_DELAY))


def _json(row: Row, key: str) -> dict[str, Any]:
    try:
        value = json.loads(text(row, key))
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
