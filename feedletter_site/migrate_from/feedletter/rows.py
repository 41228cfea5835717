"""Interpretation of feedletter's rows. Pure.

Its times are wall-clock times of the Java machine that ran it, without a time zone.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time, timedelta
from email.utils import formataddr
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from common.refused import Refused
from common.text import one_line, without_controls
from feedletter_site.migrate_from.feedletter.advice import notes_about, queued
from feedletter_site.migrate_from.feedletter.dump import Row, text
from feedletter_site.migrate_from.report import ImportResult, Line
from feeds.addresses import is_address
from subscriptions.rules.periods import period_for
from subscriptions.rules.schedule import Schedule

# Our limits of a feed's timings, in minutes.
LONGEST_DELAY = 44_640
LONGEST_PARAM, MOST_PARAMS = 2000, 50
# A collection that is over and was opened longer ago would send old posts at once (BUG-6 and BUG-8).
STALE_AFTER = timedelta(days=7)
CLOCKS_DIFFER = timedelta(minutes=10)
EACH, FIXED = "each", "every_n"
ARRANGEMENTS = {
    "Email.Each": EACH,
    "Email.Daily": "daily",
    "Email.Weekly": "weekly",
    "Email.Fixed": FIXED,
}
BRIDGES = {"Mastodon.Announce": "Mastodon", "BlueSky.Announce": "Bluesky"}
DEFAULTS, STARTERS = "com.mchange.feedletter.default.", "starter."
UNTEMPLATES = {
    "composeUntemplateName": "issues/post or issues/digest",
    "confirmUntemplateName": "mails/confirmation",
    "statusChangeUntemplateName": "the pages",
    "removalNotificationUntemplateName": "mails/farewell",
}


@dataclass(frozen=True, slots=True)
class OldItem:
    guid: str
    state: str
    link: str
    document: str
    first_seen: datetime
    stable_since: datetime


@dataclass(frozen=True, slots=True)
class OldSubscription:
    number: int
    address: str
    name: str
    is_confirmed: bool
    added: datetime


@dataclass(frozen=True, slots=True)
class OldCollection:
    """`number` counts collections of a fixed number of posts."""

    opened: datetime
    guids: tuple[str, ...]
    is_stale: bool
    number: int = 0


@dataclass(frozen=True, slots=True)
class OldNewsletter:
    name: str
    arrangement: str
    zone: str
    sender: str
    reply_to: str
    params: Mapping[str, str]
    n: int | None = None
    weekday: int = 0
    # Number of the next collection of a fixed number of posts.
    counter: int = 1
    subscriptions: tuple[OldSubscription, ...] = ()
    collections: tuple[OldCollection, ...] = ()

    @property
    def schedule(self) -> Schedule:
        return Schedule(self.arrangement, time(0), self.weekday, 1, "")


@dataclass(frozen=True, slots=True)
class OldFeed:
    number: str
    url: str
    timings: Mapping[str, int]
    added: datetime
    read_until: datetime
    items: tuple[OldItem, ...]
    newsletters: tuple[OldNewsletter, ...]
    lines: tuple[Line, ...] = ()

    @property
    def waiting(self) -> frozenset[str]:
        """Guids in collections that are to be sent."""
        return frozenset(
            guid
            for newsletter in self.newsletters
            for collection in newsletter.collections
            if not collection.is_stale
            for guid in collection.guids
        )

    @property
    def stale(self) -> frozenset[str]:
        guids = (
            collection.guids
            for newsletter in self.newsletters
            for collection in newsletter.collections
            if collection.is_stale
        )
        return frozenset(guid for each in guids for guid in each) - self.waiting


class Interpretation(NamedTuple):
    feeds: list[OldFeed]
    refused: list[Line]
    notes: list[str]


@dataclass(slots=True)
class _Context:
    zone: ZoneInfo
    config_zone: str
    now: datetime
    sends_stale: bool
    subscriptions: Mapping[str, list[Row]]
    collections: Mapping[str, list[Row]]
    guids: Mapping[tuple[str, str], list[str]]
    lines: list[Line] = field(default_factory=list)

    def line(self, result: ImportResult, kind: str, name: str, words: str) -> None:
        self.lines.append(Line(result, kind, name, words))


def interpret(
    tables: Mapping[str, Sequence[Row]], *, zone: ZoneInfo, now: datetime, sends_stale: bool = False
) -> Interpretation:
    config = {text(row, "key"): text(row, "value") for row in tables["config"]}
    guids = defaultdict(list)
    for row in tables["assignment"]:
        guids[text(row, "subscribable_name"), text(row, "within_type_id")].append(text(row, "guid"))
    newsletters = _by(tables["subscribable"], "feed_id")
    items = _by(tables["item"], "feed_id")
    feeds = []
    for row in sorted(tables["feed"], key=lambda row: int(text(row, "id"))):
        context = _Context(
            zone,
            config.get("TimeZone", ""),
            now,
            sends_stale,
            _by(tables["subscription"], "subscribable_name"),
            _by(tables["assignable"], "subscribable_name"),
            guids,
        )
        number = text(row, "id")
        feeds.append(_feed(row, items.get(number, ()), newsletters.get(number, ()), context))
    refused = list(queued(tables))
    return Interpretation(feeds, refused, notes_about(config, [feed.read_until for feed in feeds], zone))


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
    if not is_address(url):
        context.line(ImportResult.REFUSED, "feed", url, "It’s not an http or https URL.")
    read = []
    for item in items:
        if not text(item, "guid"):
            context.line(ImportResult.REFUSED, "post", text(item, "link") or url, "It has an empty guid.")
            continue
        read.append(
            OldItem(
                guid=without_controls(text(item, "guid")),
                state=text(item, "assignability"),
                link=without_controls(text(item, "link")),
                document=text(item, "single_item_rss"),
                first_seen=moment(text(item, "first_seen"), zone),
                stable_since=moment(text(item, "stable_since"), zone),
            )
        )
    made = [each for each in (_newsletter(one, url, context) for one in newsletters) if each is not None]
    return OldFeed(
        number=text(row, "id"),
        url=url,
        timings=timings,
        added=min(moment(text(row, "added"), zone), context.now),
        read_until=_read_until(row, context),
        items=tuple(read),
        newsletters=tuple(made),
        lines=tuple(context.lines),
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


def _newsletter(row: Row, url: str, context: _Context) -> OldNewsletter | None:
    name = text(row, "subscribable_name")
    manager = _json(row, "subscription_manager_json")
    kind = str(manager.get("type", ""))
    if kind in BRIDGES:
        _refuse_bridge(name, BRIDGES[kind], url, context)
        return None
    if kind not in ARRANGEMENTS or manager.get("version", 1) != 1:
        words = f"Feedletter doesn’t know its kind, “{one_line(kind)[:60]}”. Add the newsletter by hand."
        context.line(ImportResult.REFUSED, "newsletter", name, words)
        return None
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
        subscriptions=tuple(_subscriptions(name, context)),
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


def _refuse_bridge(name: str, service: str, url: str, context: _Context) -> None:
    for row in context.subscriptions.get(name, ()):
        old = _json(row, "destination_json")
        account = old.get("name") or old.get("identifier") or "?"
        words = (
            f"Add the bridge again: Bridges, Add {service}, for the feed {url}. Posts that wait for it are"
            f" kept for 30 days."
        )
        context.line(ImportResult.REFUSED, "bridge", f"{name} ({one_line(str(account))[:100]})", words)


def _subscriptions(name: str, context: _Context) -> Iterable[OldSubscription]:
    last = None
    for row in sorted(context.subscriptions.get(name, ()), key=lambda row: int(text(row, "subscription_id"))):
        old = _json(row, "destination_json")
        last = moment(text(row, "added"), context.zone, last)
        if old.get("type") != "Email":
            where = one_line(str(old.get("number") or old.get("name") or old.get("identifier") or "?"))[:100]
            words = f"{one_line(str(old.get('type')))[:40]} addresses never got this newsletter."
            context.line(ImportResult.REFUSED, "subscriber", f"{where} of {name}", words)
            continue
        yield OldSubscription(
            number=int(text(row, "subscription_id")),
            address=str(old.get("addressPart", "")),
            name=one_line(str(old.get("displayNamePart") or "")),
            is_confirmed=text(row, "confirmed") == "t",
            added=min(last, context.now),
        )


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
            period = period_for(opened, newsletter.schedule, ZoneInfo(newsletter.zone))
            is_stale = period.end <= context.now
        is_stale = is_stale and (
            newsletter.arrangement == EACH or (context.now - opened > STALE_AFTER and not context.sends_stale)
        )
        if is_stale and newsletter.arrangement != EACH:
            words = (
                f"Its issue {label}, opened on {opened:%Y-%m-%d}, was over and never sent. Its posts aren’t"
                " sent. Use --stale send to send them."
            )
            context.line(ImportResult.REFUSED, "issue", name, words)
        collections.append(OldCollection(opened, guids, is_stale, number))
    return replace(newsletter, collections=tuple(collections), counter=max(numbers, default=0) + 1)


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
    address, name = (
        one_line(str(value.get("addressPart", ""))),
        one_line(str(value.get("displayNamePart") or "")),
    )
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
