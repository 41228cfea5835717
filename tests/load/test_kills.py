"""The send worker is killed at random moments: nobody misses the letter, few get it twice."""

import random
import time
from collections import Counter
from collections.abc import Iterator

import pytest

from tests.examples import NIGHTLY, examples
from tests.load.installation import Installation, installation
from tests.servers.smtp_server import SmtpServer

__all__ = ["installation"]
pytestmark = pytest.mark.slow

KILLS = max(examples(5), 2)
RECIPIENTS = 100 * KILLS
CONNECTIONS = 10
RATE = 25.0
SECONDS = 300
# The leases of killed workers last a minute.
EXPIRE = (
    "from django.utils.timezone import now; from delivery.models import Delivery; "
    'Delivery.objects.filter(state="sending").update(lease_until=now())'
)

SETUP = f"""
from django.utils import timezone
from delivery.models import Issue, Lane
from delivery.issues.publish import publish
from subscriptions.models import Destination, Subscribable, Subscription
letter = Subscribable.objects.create(name="killed", title="Killed")
made = Destination.objects.bulk_create(
    Destination(kind="email", core=f"reader{{n}}@example.org", label=f"reader{{n}}@example.org",
                config={{"address": f"reader{{n}}@example.org"}}) for n in range({RECIPIENTS}))
Subscription.objects.bulk_create(
    Subscription(subscribable=letter, destination=row, status="confirmed") for row in made)
issue = Issue.objects.create(subscribable=letter, within_type_id="1", token="t" * 24, title="T",
                             subject="Killed", html="<p>Hello</p>", text="Hello")
Lane.objects.create(kind="email", account="default", concurrency={CONNECTIONS}, rate={RATE}, burst=20)
print(publish(issue_id=issue.pk, now=timezone.now()))
"""


@pytest.fixture
def smtp() -> Iterator[SmtpServer]:
    with SmtpServer() as server:
        yield server


@pytest.mark.parametrize(
    "installation",
    ["sqlite", pytest.param("postgres", marks=NIGHTLY), pytest.param("pooler", marks=NIGHTLY)],
    indirect=True,
)
def test_kills_lose_nothing_and_double_at_most_one_letter_a_connection(
    installation: Installation, smtp: SmtpServer
) -> None:
    assert installation.script(SETUP).strip() == str(RECIPIENTS)
    chance = random.Random(2026)
    for _ in range(KILLS):
        worker = installation.start_worker("send,reap")
        wait_for_more(smtp, installation)
        time.sleep(chance.uniform(0.1, 1.5))
        assert len(set(smtp.recipients)) < RECIPIENTS, "all kills must fall into the run"
        installation.kill(worker)
    installation.script(EXPIRE)
    installation.start_worker("send,reap")
    wait_for_all(smtp, installation)
    counts = Counter(smtp.recipients)
    doubled = sum(counts.values()) - RECIPIENTS
    assert len(counts) == RECIPIENTS
    assert doubled <= CONNECTIONS * KILLS
    print(f"{KILLS} kills, {RECIPIENTS} recipients: 0 lost, {doubled} doubled")  # noqa: T201


def wait_for_more(smtp: SmtpServer, installation: Installation) -> None:
    """Wait until the worker that was just started has sent something."""
    before, end = len(smtp.recipients), time.monotonic() + 90
    while len(smtp.recipients) <= before:
        assert time.monotonic() < end, installation.log()
        time.sleep(0.05)


def wait_for_all(smtp: SmtpServer, installation: Installation) -> None:
    end = time.monotonic() + SECONDS
    while len(set(smtp.recipients)) < RECIPIENTS or ledger(installation) != {"sent": RECIPIENTS}:
        assert time.monotonic() < end, f"{len(set(smtp.recipients))} of {RECIPIENTS}: {installation.log()}"
        time.sleep(1)


def ledger(installation: Installation) -> dict[str, int]:
    """Return the number of deliveries by state."""
    text = installation.script("from delivery.models import Delivery; print(Delivery.objects.all().counts())")
    counts: dict[str, int] = eval(text, {})  # noqa: S307 - our own output
    return counts
