"""A tick of series with a million subscribers, and an email to those for whom it is due."""

from datetime import timedelta

from django.utils import timezone

from bench import audience
from bench.newsletters import figure, took
from delivery.issues.send_series import send_series
from delivery.issues.series import add_email, switch_on
from delivery.models import Delivery
from subscriptions.models import Destination, SeriesRun, Subscribable, Subscription

MANY, BATCH = 1_000_000, 10_000
# Those for whom an email is due, the second ten times the first.
FEW, MORE = 1_000, 10_000
TICKS = 20
# Limits: milliseconds of processor time.
MOST_TICK_MS, MOST_EMAIL_MS = 100.0, 2.0


def series() -> list[dict[str, object]]:
    audience.lane()
    fill()
    send_series()
    idle = took(send_series, times=TICKS) * 1000 / TICKS
    few, more = (an_email(count) for count in (FEW, MORE))
    return [
        figure(f"a tick of series, {MANY:,} in one, nothing due", idle, "wanted", MOST_TICK_MS),
        figure(f"an email of a series, {MORE:,} due", more, f"{FEW:,} due", few),
        figure("  the same", more, "wanted", MOST_EMAIL_MS),
    ]


def an_email(count: int) -> float:
    """Return milliseconds to queue an email that is due."""
    now, before = timezone.now(), Delivery.objects.count()
    keys = SeriesRun.objects.filter(due_at__gt=now, sent=[]).order_by("pk").values_list("pk", flat=True)
    SeriesRun.objects.filter(pk__in=list(keys[:count])).update(due_at=now)
    seconds = took(send_series)
    assert Delivery.objects.count() == before + count
    return seconds * 1000 / count


def fill() -> None:
    now = timezone.now()
    newsletter = Subscribable.objects.create(
        name="course", title="A course", welcome="series", from_email="Bench <b@example.org>"
    )
    for number in range(7):
        letter = add_email(newsletter=newsletter, author="", now=now, subject=f"Part {number}", markdown="Hi")
        switch_on(letter_id=letter.pk, version=letter.version, now=now)
    for start in range(0, MANY, BATCH):
        people = [
            Destination(
                kind="email", core=f"p{number}@d{number % 97}.example", label=f"p{number}", added_at=now
            )
            for number in range(start, start + BATCH)
        ]
        Destination.objects.bulk_create(people)
        rows = [
            Subscription(subscribable=newsletter, destination=each, status="confirmed", confirmed_at=now)
            for each in people
        ]
        Subscription.objects.bulk_create(rows)
        due = now + timedelta(days=1)
        SeriesRun.objects.bulk_create(
            SeriesRun(subscription=row, newsletter=newsletter, begun_at=now, due_at=due) for row in rows
        )
