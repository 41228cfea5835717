"""The admin's first page: what needs a person comes first, then how it goes."""

from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Any

from django.contrib.auth import get_permission_codename
from django.core.cache import cache
from django.db.models import Count, Model, Q, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone

from common.admin.html import add_url, list_url, object_url
from common.clock import utcnow
from common.text import counted, shortened
from delivery.accounts.default_account import keeps_letters, sends_nothing
from delivery.admin.growth import drawn as growth_drawn
from delivery.admin.restoring import restored
from delivery.alerts.drafts import goes_out
from delivery.bounces.domain_refusals import BY_ITSELF, pause_cause
from delivery.issues.approve import drafts
from delivery.models import Bounce, Delivery, Issue, Lane, LaneDomain, Webhook, WebhookCall
from delivery.webhooks.calls import TEST
from feedletter_site.monitoring.feed_health import feed_health
from feeds.models import Feed
from subscriptions.admin_words import waits_for
from subscriptions.models import Assignable, Subscribable, Subscription

DAYS = 28
REMEMBERED_SECONDS = (DAYS + 1) * 86_400
ROWS_SHOWN = 6
LONGEST_REASON = 200
FAILED_LATELY = timedelta(days=7)
# A webhook that fails for less may mend itself.
WEBHOOK_FAILS_AFTER = timedelta(hours=1)
# Workers look every few seconds: when work is still due after this long, no worker looks.
OVERDUE = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class Alert:
    """A trouble that will not mend itself: a sentence, and where to mend it."""

    sentence: str
    label: str = ""
    url: str = ""


@dataclass(frozen=True, slots=True)
class Bar:
    """A day of the plot; `height` in percent of the highest."""

    day: date
    count: int
    height: int


def dashboard(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """Unfold's callback: the context of the admin's index page, with the figures of what the user may see."""
    user = request.user
    context.update(first_step=first_step(), alerts=alerts(user), title="Overview", days=DAYS)
    if may_see(user, Delivery):
        context.update(restore=restored())
    if not Feed.objects.exists():
        return context
    context.update(is_begun=True, tiles=tiles(user))
    if may_see(user, Delivery):
        bars = letters_per_day()
        context.update(bars=bars, letters=sum(bar.count for bar in bars))
    if may_see(user, Assignable):
        context.update(coming=coming())
    if may_see(user, Issue):
        rows = drafts().select_related("subscribable")[:ROWS_SHOWN]
        waiting = [(row, goes_out(row)) for row in rows]
        context.update(drafts=waiting, more_drafts=max(drafts().count() - ROWS_SHOWN, 0))
    if may_see(user, Feed):
        context.update(feed_health=feed_health(utcnow()))
    if may_see(user, Subscription):
        context.update(growth=growth_drawn(None))
    return context


def may_see(user: Any, model: type[Model]) -> bool:
    """As on the admin's own pages of it: whoever may change something may see it."""
    meta = model._meta
    return any(
        user.has_perm(f"{meta.app_label}.{get_permission_codename(word, meta)}")
        for word in ("view", "change")
    )


def first_step() -> Alert | None:
    """The one thing to do next, while the service is new."""
    if not Feed.objects.exists():
        words = "Everything begins with a feed: paste the address of a blog’s feed."
        return Alert(words, "Add a feed", add_url(Feed))
    if not Subscribable.objects.exists():
        feed = Feed.objects.order_by("pk").values_list("pk", flat=True)[0]
        words = "The feed is being watched. Now say how readers should get it."
        return Alert(words, "Make a newsletter", add_url(Subscribable, feeds=feed))
    if not Subscription.objects.exists():
        words = "The newsletter is there, and nobody gets it yet. Share its page, or add a subscriber."
        return Alert(words, "Share it", list_url(Subscribable))
    return None


def alerts(user: Any) -> list[Alert]:
    """What needs a person, the most pressing first."""
    domains = paused_domains() if may_see(user, Lane) else []
    return [*stalled(), *objects_in_trouble(user), *domains, *mail()]


def stalled() -> list[Alert]:
    """Work that is due and that no worker does."""
    before = utcnow() - OVERDUE
    lanes = Lane.objects.filter(paused=False).filter(Q(free_at=None) | Q(free_at__lt=before))
    late = Delivery.objects.due(before).filter(lane__in=lanes).exists()
    if not late and not Feed.objects.due(before).exists():
        return []
    words = f"Work has been due for more than {OVERDUE.seconds // 60} minutes. Is a worker running?"
    return [
        Alert(words, "See when each stage ran", reverse("admin:django_celery_beat_periodictask_changelist"))
    ]


def objects_in_trouble(user: Any) -> list[Alert]:
    """A sentence for each kind of object that a person has to look at."""
    failed = Delivery.objects.filter(state="failed", created_at__gte=utcnow() - FAILED_LATELY)
    stuck = Q(paused=True) | Q(failures__gt=0)
    # A delivery that only waits for a pause to end is no trouble by itself.
    held = Delivery.objects.filter(state="held").exclude(held_for__in=("pause", "restore"))
    paused = Subscribable.objects.filter(sending_paused_at__isnull=False)
    refused = Issue.objects.filter(paused_at__isnull=False, paused_reason__startswith=BY_ITSELF)
    deaf = Q(disabled_at__isnull=False) | Q(active=True, failing_since__lte=utcnow() - WEBHOOK_FAILS_AFTER)
    lately = WebhookCall.objects.filter(created_at__gte=utcnow() - FAILED_LATELY)
    untold = lately.filter(state="failed").exclude(kind=TEST)
    found: tuple[tuple[QuerySet[Any], str, dict[str, str]], ...] = (
        (Feed.objects.filter(status="active", failures__gt=0), "feed cannot be read", {"health": "failing"}),
        (Feed.objects.filter(status="stopped", failures__gt=0), "feed is gone", {"health": "stopped"}),
        (Feed.objects.filter(held_since__isnull=False), "feed is held for you", {"health": "held"}),
        (paused, "newsletter is paused, and its letters wait", {"sending_paused_at__isnull": "False"}),
        (refused, "issue is paused because it is refused", {"state": "paused"}),
        (held, "delivery is held for you", {"state__exact": "held"}),
        (Bounce.objects.filter(held=True), "bounce is held for you", {"held__exact": "1"}),
        (failed, "delivery failed this week", {"state__exact": "failed"}),
        (Assignable.objects.filter(failures__gt=0), "collection cannot be completed", {}),
        (Lane.objects.filter(stuck), "lane is paused or cannot send", {}),
        (Webhook.objects.filter(deaf), "webhook is not reached", {}),
        (untold, "call of a webhook failed this week", {"state__exact": "failed"}),
    )
    seen = []
    for rows, words, filters in found:
        if not may_see(user, rows.model) or not (count := rows.count()):
            continue
        noun, _, verb = words.partition(" ")
        if count > 1 and verb.startswith("is "):
            verb = f"are{verb[2:]}"
        said = f"{counted(count, noun, 'deliveries' if noun == 'delivery' else '')} {verb}."
        seen.append(Alert(said, "Look", list_url(rows.model, **filters)))
    return seen


def paused_domains() -> list[Alert]:
    """The domains to which nothing goes, for now or until somebody says so, each with the reason."""
    rests = Q(refused_since__isnull=False, free_at__gt=utcnow())
    stopped = LaneDomain.objects.filter(Q(paused=True) | rests)
    rows = stopped.select_related("lane").order_by("domain", "lane")
    shown = [
        Alert(
            f"Letters to {row.domain} {'are paused' if row.paused else 'wait'}: "
            f"{shortened(pause_cause(row.paused_reason or row.last_error), LONGEST_REASON)}",
            "Look",
            object_url(row.lane),
        )
        for row in rows[:ROWS_SHOWN]
    ]
    if (more := rows.count() - ROWS_SHOWN) > 0:
        shown.append(Alert(f"So are those to {counted(more, 'more domain')}.", "Look", list_url(Lane)))
    return shown


def mail() -> list[Alert]:
    if keeps_letters():
        return [
            Alert("Letters are kept in the mailbox here, not sent.", "Set up mail", reverse("mail_set_up"))
        ]
    if sends_nothing():
        return [Alert("No letter can go out.", "Set up mail", reverse("mail_set_up"))]
    return []


def tiles(user: Any) -> list[tuple[str, int, str]]:
    """Title, number, link."""
    found: list[tuple[str, QuerySet[Any], dict[str, str]]] = [
        ("Feeds", Feed.objects.all(), {}),
        ("Newsletters", Subscribable.objects.all(), {}),
        ("Subscribers", Subscription.objects.confirmed(), {"status__exact": "confirmed"}),
        ("Waiting to be sent", Delivery.objects.waiting(), {"state__in": "queued,deferred"}),
    ]
    return [
        (title, rows.count(), list_url(rows.model, **filters))
        for title, rows, filters in found
        if may_see(user, rows.model)
    ]


def letters_per_day() -> list[Bar]:
    """How many letters arrived on each of the last days, today included, in the admin's zone."""
    today, zone = timezone.localdate(), timezone.get_current_timezone_name()
    past = [today - timedelta(days=back) for back in reversed(range(DAYS))]
    days = {f"letters:{day}:{zone}": day for day in past}
    # A day that is over is counted once; today and yesterday, which may get late ones, each time.
    known: dict[str, int] = cache.get_many(list(days)[:-2])
    fresh: dict[str, int] = {}
    for key, day in days.items():
        if key not in known:
            start = timezone.make_aware(datetime.combine(day, time()))
            end = timezone.make_aware(datetime.combine(day + timedelta(days=1), time()))
            arrived = Delivery.objects.filter(kind="issue", sent_at__gte=start, sent_at__lt=end)
            fresh[key] = arrived.count()
    cache.set_many(fresh, REMEMBERED_SECONDS)
    counts = known | fresh
    highest = max(counts.values()) or 1
    return [Bar(day, counts[key], round(100 * counts[key] / highest)) for key, day in days.items()]


def coming() -> list[tuple[Assignable, str]]:
    """The collections that go out next, with when that is."""
    rows = Assignable.objects.select_related("subscribable").prefetch_related("subscribable__feeds")
    dated = rows.filter(period_end__isnull=False).annotate(held=Count("assignments")).order_by("period_end")
    return [(row, waits_for(row)) for row in dated[:ROWS_SHOWN]]
