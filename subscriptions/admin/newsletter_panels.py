import shlex
from typing import Any

from django import forms
from django.http import HttpRequest
from django.urls import reverse

from common.admin.html import add_url, brief, list_link, list_url, object_url, when
from common.admin.model_admin import StyledForm
from common.clock import utcnow
from common.parts import Button, Code, Facts, Link, Part, Table, Template, Text, listed
from common.ports import channels
from common.program import MANAGE
from common.text import pluralize
from subscriptions.admin_words import rhythm_here
from subscriptions.collections.assign import MOST_POSTS, begin_with, can_begin, latest
from subscriptions.models import Subscribable, Subscription
from subscriptions.rules.schedule import ARRANGEMENTS, next_ends, week_plan
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
    ("--content", "content"),
    ("--order", "post_order"),
    ("--max-posts", "max_posts"),
    ("--hooks", "hooks"),
)
NEWEST_SHOWN = 20
NEXT_TIMES = 5


def define_command(subscribable: Subscribable) -> str:
    words = [MANAGE, "define_subscribable", subscribable.name]
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


def what_next(subscribable: Subscribable, request: HttpRequest) -> Part:
    """Show the steps after creation; "" once it has sent something, and for a bridge."""
    if subscribable.channel != "email" or subscribable.last_completed_wti:
        return ""
    address = object_url(subscribable)
    steps = [("Choose a look", f"{address}?tab=look"), ("Share it", f"{address}?tab=share")]
    if not subscribable.subscriptions.exists():
        email = getattr(request.user, "email", "")
        url = add_url(Subscription, subscribable=subscribable.pk, email_email=email)
        steps.insert(0, ("Subscribe yourself", url))
    return Text(tuple(Button(url, title) for title, url in steps), "steps")


class BeginForm(StyledForm, forms.Form):
    count = forms.IntegerField(
        label="How many posts",
        initial=3,
        min_value=1,
        max_value=MOST_POSTS,
        help_text="The newest posts of its feeds, such as 3.",
    )

    def __init__(self, keys: list[int], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.intro = (
            "These posts were published before the newsletter existed. Only this newsletter sends them."
        )


def has_recent_posts(subscribable: Subscribable) -> bool:
    return can_begin(subscribable) and bool(latest(subscribable, 1))


def begin_with_recent(request: HttpRequest, keys: list[int], count: int) -> str:
    rows = Subscribable.objects.filter(pk__in=keys)
    added = sum(begin_with(subscribable=row, count=count, now=utcnow()) for row in rows)
    return f"{pluralize(added, 'post')} added to the next issue."


def schedule(subscribable: Subscribable) -> Part:
    zone = subscribable.zone
    # Empty without a calendar.
    ends = next_ends(subscribable.schedule, zone, utcnow(), count=NEXT_TIMES)
    return Facts(
        ("How often", rhythm_here(subscribable)),
        ("Stopped", "It takes no new posts. Its open issue is still sent." if subscribable.stopped else ""),
        ("Next times, if there are new posts", ", ".join(brief(end, zone=zone) for end in ends)),
    )


def people(subscribable: Subscribable) -> Part:
    """Show counts, search, the newest subscribers, and ways to add more."""
    counts = reader_counts(subscribable)
    words = dict(Subscription.LeftWhy.choices)
    why_left = ", ".join(f"{words[why]}: {number:,}" for why, number in counts["why_left"].items())
    devices = count_devices(subscribable) if subscribable.offers_devices else None
    rows = subscribable.subscriptions.select_related("destination").order_by("-pk")[:NEWEST_SHOWN]
    table = Table(
        ("newest", "status", "since"),
        (
            (Link(row, row.destination), row.get_status_display(), when(row.added_at, zone=subscribable.zone))
            for row in rows
        ),
        "Nobody has subscribed yet. Add somebody, import a list, or share the sign-up page.",
    )
    context = {
        "counts": listed(
            list_link(
                Subscription,
                f"{counts['by_status'][status]:,} {label}",
                subscribable__id__exact=subscribable.pk,
                status__exact=status,
            )
            for status, label in Subscription.Status.choices
            if status in counts["by_status"]
        ),
        "search": list_url(Subscription),
        "newsletter": subscribable.pk,
        "ways": _ways(subscribable, has_people=bool(counts["by_status"])),
        "facts": Facts(("With notifications on a device", devices), ("Why they unsubscribed", why_left)),
        "table": table,
    }
    return Template("admin/subscriptions/people.html", context)


def _ways(subscribable: Subscribable, *, has_people: bool) -> Part:
    kind = channels.get(subscribable.channel)
    ways = [(add_url(Subscription, subscribable=subscribable.pk), "Add")]
    if kind.public_sign_up and not kind.is_by_code:
        query = f"?newsletter={subscribable.pk}"
        ways.append((reverse("admin:subscriptions_subscription_import_list") + query, "Import"))
        if has_people:
            ways.append((reverse("admin:subscriptions_subscription_export_list") + query, "Export"))
    return tuple(Button(url, title, is_plain=True) for url, title in ways)


def command(subscribable: Subscribable) -> Part:
    return Code(define_command(subscribable), is_copied=True)
