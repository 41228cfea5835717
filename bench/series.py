"""A tick of series with a million subscribers, and an email to those for whom it is due."""

from datetime import timedelta

from django.db import connection
from django.utils import timezone

from bench import audience
from bench.newsletters import figure, took
from delivery.issues.send_series import send_series
from delivery.issues.series import add_email, switch_on
from delivery.models import Delivery
from subscriptions.models import Destination, SeriesRun, Subscribable, Subscription

MANY = 1_000_000
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
    newsletter = audience.rows_of("course", readers=MANY)
    Subscribable.objects.filter(pk=newsletter.pk).update(welcome="series")
    for number in range(7):
        letter = add_email(newsletter=newsletter, author="", now=now, subject=f"Part {number}", markdown="Hi")
        switch_on(letter_id=letter.pk, version=letter.version, now=now)
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            INSERT INTO {SeriesRun._meta.db_table}
                (subscription_id, newsletter_id, time_zone, begun_at, sent, deliveries, due_at)
            SELECT id, subscribable_id, '', %s, '[]', '[]', %s FROM {Subscription._meta.db_table}
            """,
            [now, now + timedelta(days=1)],
        )
    audience.vacuum(Destination, Subscription, SeriesRun)
