from collections import Counter
from collections.abc import Sequence
from datetime import datetime

from common.admin.html import add_url, when
from common.admin.resources import actions_of
from common.clock import utcnow
from common.parts import Button, Link, Part, Table, Text
from common.ports import channels
from common.ports.panels import Column, Panel, add
from common.text import pluralize
from feeds.credentials import exposure
from feeds.models import Feed, Item
from subscriptions.admin_words import rhythm_here, waits_for
from subscriptions.models import FailedAssignment, LeftOut, Subscribable
from subscriptions.resources.newsletters import feeds, items
from subscriptions.subscribers.antispam import count_refusals

USERS = ("newsletter", "bridge", "reader")
OUT_UNLESS = "It isn’t sent unless you put it back before the issue is sent."
WHY = {
    "ip": "too many from one internet address",
    "address": "one address too often",
    "newsletter": "too many for this newsletter",
    "domain": "too many at one mail provider",
    "proxy": "too many from one address in your network, which is probably your proxy. Add it to"
    " TRUSTED_PROXIES, so that people's own addresses are counted",
}


def install() -> None:
    add("feeds.Item", Panel("Next issues", collections_of_post, order=20, is_shared=True), *actions_of(items))
    add(
        "feeds.Feed",
        Column("used_by", "used by", users_of_feeds),
        Panel("Newsletters", newsletters_of_feed, order=20, is_shared=True),
        *actions_of(feeds),
    )
    add("subscriptions.Subscribable", Panel("Refused sign-ups", turned_away, order=15, tab="subscribers"))


def users_of_feeds(rows: Sequence[Feed]) -> dict[int, Part]:
    """Return "2 newsletters · 1 bridge · 3 readers" by key."""
    used = Subscribable.feeds.through.objects.filter(feed__in=rows)
    bridges = {kind.key for kind in channels.bridge_kinds()}
    counts: dict[int, Counter[str]] = {row.pk: Counter(reader=row.read_by) for row in rows}
    for feed, channel in used.values_list("feed", "subscribable__channel"):
        counts[feed]["bridge" if channel in bridges else "newsletter"] += 1
    return {
        pk: " · ".join(pluralize(count[word], word) for word in USERS if count[word]) or "nobody"
        for pk, count in counts.items()
    }


def newsletters_of_feed(feed: Feed) -> Part:
    if feed.dropping:
        return "It is being deleted."
    # Bridges have their own panel.
    rows = list(feed.subscribables.exclude(channel__in=[kind.key for kind in channels.bridge_kinds()]))
    text = "Create another newsletter from this feed" if rows else "Create a newsletter from this feed"
    warning = exposure(feed)
    return (
        Text(warning, "alert") if warning else "",
        Table(
            ("newsletter", "schedule"),
            ((Link(row), rhythm_here(row)) for row in rows),
            "No newsletter uses this feed, so its posts aren’t sent.",
        ),
        Button(add_url(Subscribable, feeds=feed.pk), text),
    )


def collections_of_post(item: Item) -> Part:
    if stuck := FailedAssignment.objects.filter(item=item).first():
        message = f"It couldn’t be added to an issue. Next try: {when(stuck.next_try_at)}. {stuck.last_error}"
        return Text(message, "alert")
    rows = item.assignments.select_related("assignable__subscribable")
    shown = []
    for row in rows.prefetch_related("assignable__subscribable__feeds"):
        held = row.assignable
        out = _left_out_by_hand(row.left_out_at, held.subscribable) if row.left_out_at else ""
        if row.is_withdrawn:
            out = withdrawn_words(item, held.subscribable)
        shown.append((Link(held, held.subscribable), out or "Will be sent.", waits_for(held)))
    if item.state == Item.State.UNASSIGNED:
        ahead = LeftOut.objects.filter(item=item, by_hand=True).select_related("subscribable")
        shown += [(Link(row.subscribable), _left_out_by_hand(row.at, row.subscribable), "") for row in ahead]
    return Table(
        ("newsletter", "this post", "when"), shown, "It is in no next issue. “What happened” says why."
    )


def withdrawn_words(item: Item, subscribable: Subscribable) -> str:
    at = when(item.set_aside_at, zone=subscribable.zone)
    return f"Removed from its feed on {at}; sent only if it reappears."


def _left_out_by_hand(at: datetime, subscribable: Subscribable) -> str:
    return f"Left out by an editor on {when(at, zone=subscribable.zone)}. {OUT_UNLESS}"


def turned_away(newsletter: Subscribable) -> Part:
    refusals = count_refusals(newsletter, now=utcnow())
    if not refusals:
        return ""
    reasons = "; ".join(f"{WHY[scope]} ({count:,})" for scope, count in sorted(refusals.items()))
    number = pluralize(sum(refusals.values()), "sign-up")
    words = f"{number} got no confirmation email in the last day: {reasons}. SIGN_UP_LIMITS sets the limits."
    return Text(words, "alert")
