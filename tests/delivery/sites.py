"""A letter for many readers, queued in an installation of its own."""

from tests.load.installation import Installation

QUEUE = """
from django.utils import timezone
from delivery.models import Issue, Lane
from delivery.issues.publish import publish
from subscriptions.models import Destination, Subscribable, Subscription
letter = Subscribable.objects.create(name="stopped", title="Stopped")
made = Destination.objects.bulk_create(
    Destination(kind="email", core=f"reader{{n}}@example.org", label=f"reader{{n}}@example.org")
    for n in range({count}))
Subscription.objects.bulk_create(
    Subscription(subscribable=letter, destination=row, status="confirmed") for row in made)
issue = Issue.objects.create(subscribable=letter, within_type_id="1", token="t" * 24, title="T",
                             subject="Hello", html="<p>Hello</p>", text="Hello")
Lane.objects.create(kind="email", account="default", **{lane!r})
print(publish(issue_id=issue.pk, now=timezone.now()))
"""
STATES = "SELECT state, count(*) FROM delivery_delivery GROUP BY state"
BEGUN = "SELECT count(*) FROM delivery_delivery WHERE begun_at IS NOT NULL"


def queue(site: Installation, count: int, **lane: float) -> None:
    """Queue an issue for that many readers, and the lane they share."""
    assert site.script(QUEUE.format(count=count, lane=lane)).strip() == str(count)


def states_of(site: Installation) -> dict[str, int]:
    return dict(site.rows(STATES))


def begun(site: Installation) -> int:
    """Return the number of deliveries with an unknown outcome."""
    return int(site.rows(BEGUN)[0][0])
