import shlex
from collections.abc import Mapping
from typing import Any

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from common.admin.html import add_url, facts, html_table, link_to, list_link, listed
from common.clock import utcnow
from common.ports import channels
from common.text import pluralize
from subscriptions.admin.list_import import export_url, import_url
from subscriptions.admin_words import rhythm_for_admins, waits_for
from subscriptions.models import KEPT, Subscribable, Subscription
from subscriptions.rules.cron_plan import week_plan
from subscriptions.rules.periods import next_ends
from subscriptions.rules.schedule import ARRANGEMENTS
from subscriptions.rules.words import moment_words
from subscriptions.subscribers.counts import reader_counts
from subscriptions.subscribers.devices import count_devices

IF_OTHER = (
    ("--title", "title"),
    ("--description", "description"),
    ("--channel", "channel"),
    ("--time-zone", "time_zone"),
    ("--approval", "approval"),
    ("--approval-minutes", "approval_minutes"),
    ("--visibility", "visibility"),
    ("--sign-up", "sign_up"),
    ("--language", "language"),
    ("--from", "from_email"),
    ("--reply-to", "reply_to"),
    ("--template", "template"),
    ("--order", "post_order"),
    ("--max-posts", "max_posts"),
    ("--hooks", "hooks"),
)


def define_command(subscribable: Subscribable) -> str:
    words = ["manage.py", "define_subscribable", subscribable.name]
    for feed in subscribable.feeds.order_by("pk"):
        words += ["--feed", str(feed.pk)]
    if plan := week_plan(subscribable.schedule):
        words += ["--arrangement", "weekly", "--at", f"{plan.at:%H:%M}"]
        for day in plan.weekdays:
            words += ["--weekday", Subscribable.Weekday(day).label.lower()]
    else:
        words += ["--arrangement", subscribable.arrangement]
    uses = frozenset() if plan else ARRANGEMENTS[subscribable.arrangement]
    if "at" in uses:
        words += ["--at", f"{subscribable.at:%H:%M}"]
    if "day_of_month" in uses:
        words += ["--day-of-month", str(subscribable.day_of_month)]
    if "cron" in uses:
        words.append(f"--cron={subscribable.cron}")
    if "n" in uses:
        words += ["--n", str(subscribable.n)]
    if "max_wait_days" in uses and subscribable.max_wait_days is not None:
        words += ["--max-wait-days", str(subscribable.max_wait_days)]
    usual = Subscribable()
    for option, field in IF_OTHER:
        value = getattr(subscribable, field)
        if value != getattr(usual, field):
            words.append(f"{option}={value}")
    words += [f"--embed-host={host}" for host in subscribable.embed_hosts.splitlines()]
    words += [f"--option={name}={value}" for name, value in subscribable.options.items()]
    words += [f"--param={name}={value}" for name, value in subscribable.params.items()]
    return shlex.join(words)


COLLECTIONS_SHOWN = 20
NEXT_TIMES = 5


def channel_labels() -> list[tuple[str, str]]:
    return [(kind.key, kind.label) for kind in channels.newsletter_kinds()]


def how_it_goes(subscribable: Subscribable) -> SafeString:
    rows: list[tuple[str, Any]] = [("Readers get", rhythm_for_admins(subscribable))]
    if subscribable.stopped:
        rows.append(("Stopped", "It takes no new posts; what is being collected still goes out."))
    zone = subscribable.zone
    # Empty without a calendar.
    if ends := next_ends(subscribable.schedule, zone, utcnow(), count=NEXT_TIMES):
        lines = format_html_join("", "{}<br>", ((moment_words(end, zone),) for end in ends))
        rows.append(("If there is anything new, it goes out on", lines))
    counts = reader_counts(subscribable)
    rows.append(("Subscribers", subscribers(subscribable, counts.by_status)))
    if subscribable.offers_devices:
        rows.append(("Of these, told on devices", f"{count_devices(subscribable):,}"))
    if counts.why_left:
        words = dict(Subscription.LeftWhy.choices)
        rows.append(
            ("Why readers left", listed(f"{words[why]}: {n:,}" for why, n in counts.why_left.items()))
        )
    return format_html("{}{}", facts(rows), open_collections(subscribable))


def subscribers(subscribable: Subscribable, counts: Mapping[str, int]) -> SafeString:
    links: list[SafeString | str] = [
        list_link(
            Subscription,
            f"{counts[status]:,} {label}",
            subscribable__id__exact=subscribable.pk,
            status__exact=status,
        )
        for status, label in Subscription.Status.choices
        if status in counts
    ]
    add = format_html(
        '<a class="fl-link" href="{}">Add one</a>', add_url(Subscription, subscribable=subscribable.pk)
    )
    ways = []
    kind = channels.get(subscribable.channel)
    if kind.public_sign_up and not kind.is_by_code:
        ways.append((import_url(subscribable), "Import a list"))
        if links:
            ways.append((export_url(subscribable), "Export it"))
    lists = [format_html('<a class="fl-link" href="{}">{}</a>', url, words) for url, words in ways]
    return listed([*(links or ["None so far"]), add, *lists])


def open_collections(subscribable: Subscribable) -> SafeString:
    rows: Any = subscribable.assignables.annotate(held=KEPT)[:COLLECTIONS_SHOWN]
    shown = []
    for row in rows:
        row.subscribable = subscribable  # saves a query for each row
        shown.append((link_to(row, pluralize(row.held, "post")), waits_for(row)))
    return html_table(
        ("being collected", "when it goes out"),
        shown,
        "Nothing is being collected at the moment. The next post that settles begins it.",
    )


def command(subscribable: Subscribable) -> SafeString:
    return format_html('<pre class="fl-copy">{}</pre>', define_command(subscribable))


def losses(subscribable: Subscribable) -> str:
    active = subscribable.subscriptions.exclude(status="unsubscribed").count()
    held = subscribable.assignables.aggregate(posts=KEPT)["posts"]
    collected = f" {pluralize(held, 'post')} being collected will not go out." if held else ""
    return (
        f"“{subscribable}” is deleted with its {pluralize(active, 'subscriber')}, its page, its archive and "
        f"what is on its way to readers.{collected} This cannot be taken back."
    )
