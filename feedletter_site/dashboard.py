"""The admin's first page: what needs a person, then how it goes."""

from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db.models import Count
from django.db.models.functions import TruncDate
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from common.clock import utcnow
from delivery.models import Delivery, Lane
from feeds.models import Feed
from subscriptions.models import Assignable, Subscribable, Subscription

DAYS = 28
KEPT_HERE = "Letters are kept here, not sent: set EMAIL_URL."


def dashboard(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """Unfold's callback: adds to the context of the admin's index page."""
    context.update(
        first_steps=first_steps(),
        needs_a_person=needs_a_person(),
        tiles=tiles(),
        days=letters_per_day(),
        coming=coming(),
    )
    return context


def first_steps() -> dict[str, str] | None:
    """The one thing to do next, while the service is new."""
    if not Feed.objects.exists():
        return {
            "say": "Welcome. Everything begins with a feed: paste the address of a blog's feed.",
            "label": "Add a feed",
            "url": reverse("admin:feeds_feed_add"),
        }
    if not Subscribable.objects.exists():
        return {
            "say": "The feed is being watched. Now say how readers should get it.",
            "label": "Add a newsletter",
            "url": reverse("admin:subscriptions_subscribable_add"),
        }
    return None


def needs_a_person() -> list[SafeString]:
    """One sentence, with a link, for each thing that will not mend itself."""
    ledger, feeds = reverse("admin:delivery_delivery_changelist"), reverse("admin:feeds_feed_changelist")
    found = [
        (Feed.objects.filter(status="active", failures__gt=0).count(), "feeds cannot be read", feeds),
        (
            Delivery.objects.filter(state="held").count(),
            "deliveries are held for you",
            f"{ledger}?state__exact=held",
        ),
        (recently_failed(), "deliveries failed this week", f"{ledger}?state__exact=failed"),
        (
            Assignable.objects.filter(failures__gt=0).count(),
            "collections cannot be completed",
            reverse("admin:subscriptions_assignable_changelist"),
        ),
        (
            Lane.objects.filter(paused=True).count() + Lane.objects.filter(failures__gt=0).count(),
            "lanes cannot send",
            reverse("admin:delivery_lane_changelist"),
        ),
    ]
    said = [format_html('<a href="{}">{} {}</a>', url, count, words) for count, words, url in found if count]
    if settings.EMAIL_URL.startswith("mailbox:"):
        said.append(format_html('{} <a href="/mailbox/">Open the mailbox</a>', KEPT_HERE))
    return said


def recently_failed() -> int:
    return Delivery.objects.filter(state="failed", created_at__gte=utcnow() - timedelta(days=7)).count()


def tiles() -> list[tuple[str, int, str]]:
    """Title, number, link."""
    return [
        ("Feeds", Feed.objects.count(), reverse("admin:feeds_feed_changelist")),
        ("Newsletters", Subscribable.objects.count(), reverse("admin:subscriptions_subscribable_changelist")),
        (
            "Subscribers",
            Subscription.objects.confirmed().count(),
            reverse("admin:subscriptions_subscription_changelist") + "?status__exact=confirmed",
        ),
        (
            "Waiting to be sent",
            Delivery.objects.waiting().count(),
            reverse("admin:delivery_delivery_changelist") + "?state__exact=queued",
        ),
    ]


def letters_per_day() -> list[dict[str, Any]]:
    """The last four weeks, a bar a day: date, count and the bar's height in percent of the highest."""
    today = utcnow().date()
    since = utcnow() - timedelta(days=DAYS)
    rows = (
        Delivery.objects.filter(sent_at__gte=since)
        .annotate(day=TruncDate("sent_at"))
        .order_by()
        .values_list("day")
        .annotate(Count("pk"))
    )
    counts = dict(rows)
    highest = max(counts.values(), default=0) or 1
    days = [today - timedelta(days=ago) for ago in reversed(range(DAYS))]
    return [
        {"day": day, "count": counts.get(day, 0), "height": round(100 * counts.get(day, 0) / highest)}
        for day in days
    ]


def coming() -> list[Assignable]:
    """The collections that close next."""
    rows = Assignable.objects.filter(period_end__isnull=False).select_related("subscribable")
    return list(rows.annotate(held=Count("assignments")).order_by("period_end")[:6])
