"""Pages with 1,000,000 subscribers, 200 newsletters and 5,000,000 letters."""

from dataclasses import dataclass, field
from datetime import timedelta

from django.contrib.auth.models import User
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.utils import timezone

from bench import audience
from bench.ledger import Size, copies, fill, page_figure
from common.admin.html import list_url, object_url
from delivery.models import Delivery, Issue, Theme
from feedletter_site.monitoring.figures import count_again
from feeds.models import Feed, Item
from subscriptions.models import Assignable, Assignment, Subscribable, Subscription

# Limit for a page.
MOST_MS = 300.0
TABS = ("overview", "issues", "subscribers", "look", "settings", "site")


@dataclass(frozen=True, slots=True)
class Newsletters:
    """One newsletter has all of `size`; `others` have a share of its subscribers."""

    size: Size = field(
        default_factory=lambda: Size(feeds=500, hosts=100, posts=50_000, subscribers=1_000_000, issues=4)
    )
    others: int = 199
    subscribers: int = 1_000
    issues: int = 5


def large() -> list[dict[str, object]]:
    fill_newsletters(Newsletters())
    client = Client()
    client.force_login(User.objects.create_superuser("bench"))
    # Workers do this every few minutes.
    count_again()
    return large_figures(client)


def large_figures(client: Client) -> list[dict[str, object]]:
    """Measure each page with an empty and a filled cache."""
    results = []
    for name, address in large_pages():
        cache.clear()
        results.append(page_figure(client, f"{name}, at first", address, most=MOST_MS, rounds=1))
        results.append(page_figure(client, name, address, most=MOST_MS))
    return results


def large_pages() -> list[tuple[str, str]]:
    newsletter = Subscribable.objects.order_by("pk")[0]
    reader = Subscription.objects.filter(subscribable=newsletter).latest("pk")
    issue = Issue.objects.filter(subscribable=newsletter).order_by("-published_at")[0]
    newsletters, subscribers = list_url(Subscribable), list_url(Subscription)
    return [
        ("overview", "/admin/"),
        ("newsletters", newsletters),
        *((f"a newsletter: {tab}", f"{object_url(newsletter)}?tab={tab}") for tab in TABS),
        ("subscribers", subscribers),
        ("subscribers of a newsletter", f"{subscribers}?subscribable__id__exact={newsletter.pk}"),
        (
            "those who left it",
            f"{subscribers}?subscribable__id__exact={newsletter.pk}&status__exact=unsubscribed",
        ),
        ("subscribers by address", f"{subscribers}?q={reader.destination.core}"),
        ("subscribers by domain", f"{subscribers}?q=@mail7.example"),
        ("subscribers by name", f"{subscribers}?q=Reader+4711"),
        ("a subscriber", object_url(reader)),
        ("issues", list_url(Issue)),
        ("an issue", object_url(issue)),
    ]


def fill_newsletters(plan: Newsletters) -> None:
    now, readers = timezone.now(), plan.size.subscribers
    fill(plan.size)
    first = Subscribable.objects.get(name="ledger")
    model = Subscription.objects.filter(subscribable=first).order_by("pk")[0]
    spread(first)
    Theme.objects.create(subscribable=first, accent="#7a3b9d")
    others = other_newsletters(plan.others)
    lowest = others[0].pk
    per = plan.subscribers
    copies(
        model,
        plan.others * per,
        subscribable_id=f"{lowest} + (n - 1) / {per}",
        destination_id=f"{model.destination_id} + n % {readers}",
        token="md5(random()::text)",
        added_at="now() - n % 700 * interval '1 day'",
        confirmed_at="now() - n % 700 * interval '1 day'",
    )
    latest = Subscription.objects.filter(subscribable=lowest).order_by("pk")[0]
    issue = audience.issue(others[0], 0)
    Issue.objects.filter(pk=issue.pk).update(published_at=now, created_at=now)
    copies(
        issue,
        plan.others * plan.issues - 1,
        subscribable_id=f"{lowest} + n / {plan.issues}",
        within_type_id="n::text",
        token="md5(n::text)",
        published_at="now() - n % 200 * interval '1 day'",
        created_at="now() - n % 200 * interval '1 day'",
    )
    letter = Delivery.objects.filter(issue__subscribable=first).earliest("pk")
    letters = per * plan.issues
    copies(
        letter,
        plan.others * letters,
        issue_id=f"{issue.pk} + (n - 1) / {per}",
        destination_id=f"{latest.destination_id} + (n - 1) / {letters} * {per} + (n - 1) % {per}",
        subscription_id=f"{latest.pk} + (n - 1) / {letters} * {per} + (n - 1) % {per}",
        domain=f"'mail' || n % {audience.DOMAINS} || '.example'",
        state="CASE WHEN n % 100 = 0 THEN 'failed' ELSE 'sent' END",
        sent_at="CASE WHEN n % 100 > 0 THEN now() - n % 200 * interval '1 day' END",
    )
    collect(plan)
    audience.vacuum(Subscribable, Subscription, Issue, Delivery, Assignable, Assignment)


def other_newsletters(count: int) -> list[Subscribable]:
    rhythms, zones = ("each", "daily", "weekly", "monthly"), ("UTC", "Europe/Berlin", "America/New_York")
    made = Subscribable.objects.bulk_create(
        Subscribable(
            name=f"other{number}",
            title=f"The other letter with the number {number}",
            from_email="Bench <b@example.org>",
            arrangement=rhythms[number % len(rhythms)],
            time_zone=zones[number % len(zones)],
            sending_paused_at=None if number % 20 else timezone.now(),
        )
        for number in range(count)
    )
    feeds = list(Feed.objects.order_by("pk")[: 2 * count])
    for place, newsletter in enumerate(made):
        newsletter.feeds.set(feeds[place * 2 : place * 2 + 2])
    return made


def spread(newsletter: Subscribable) -> None:
    """Spread sign-ups over two years. 5 % left, 1 % are unconfirmed."""
    came = "now() - mod(id, 700) * interval '1 day'"
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            UPDATE {Subscription._meta.db_table} SET
                added_at = {came},
                confirmed_at = CASE WHEN mod(id, 100) > 0 THEN {came} END,
                status = CASE WHEN mod(id, 100) = 0 THEN 'unconfirmed'
                    WHEN mod(id, 20) = 1 THEN 'unsubscribed' ELSE 'confirmed' END,
                left_at = CASE WHEN mod(id, 20) = 1 THEN now() - mod(id, 300) * interval '1 day' END,
                left_why = CASE WHEN mod(id, 40) = 1 THEN 'too_often' ELSE '' END
            WHERE subscribable_id = %s
            """,
            [newsletter.pk],
        )


def collect(plan: Newsletters) -> None:
    now = timezone.now()
    rows = [
        Assignable(
            subscribable=newsletter,
            within_type_id="open",
            period_start=now - timedelta(days=1),
            period_end=now + timedelta(days=1),
        )
        for newsletter in Subscribable.objects.all()
    ]
    made = Assignable.objects.bulk_create(rows)
    items = Item.objects.order_by("-pk")[: 2 * len(made)]
    Assignment.objects.bulk_create(
        Assignment(assignable=made[place // 2], item=item) for place, item in enumerate(items)
    )
