"""Letters a second, ledgered and personalised, beside three baselines.

PostgreSQL has default settings: fsync and synchronous_commit are on.
"""

import time
from collections import defaultdict
from statistics import median

from django.conf import settings
from django.db import connection
from django.utils import timezone

from bench import audience, processor, rss2email
from bench.smtp import SESSIONS, sink, smtp_source
from channels.email.channel import EmailChannel
from channels.email.dkim.keys import RSA, SigningKey, generate
from common.db.bulk import vacuum_analyze
from delivery.accounts.dkim_keys import make_key
from delivery.engine.send_pass import send_due
from delivery.issues.publish import publish
from delivery.models import Delivery, Lane
from subscriptions.models import Destination, Subscribable, Subscription

# SQLite lets one process write at a time.
COUNT = 40_000 if connection.vendor == "postgresql" else 4_000
ROUNDS = 3
FEW_CONNECTIONS = 10
SIGNATURES = 3_000
# Of a letter, in all processes together: the worker's, the child's, the database's and the mail server's.
MOST_MICROSECONDS = 165
SIGNING_DOMAIN = "signed.example"

Pair = tuple[float, float]


def letters() -> list[dict[str, object]]:
    settings.BOUNCE_DOMAIN = "bounces.example.org"
    audience.lane()
    plain = audience.newsletter("plain", readers=COUNT)
    signed = audience.newsletter("signed", readers=COUNT, domain=SIGNING_DOMAIN)
    make_key(domain=SIGNING_DOMAIN, now=timezone.now(), algorithm=RSA)
    size = audience.letter_size(audience.issue(plain, 0))
    key = SigningKey(SIGNING_DOMAIN, "bench", generate(RSA))
    with sink() as port:
        settings.EMAIL_URL = f"smtp://127.0.0.1:{port}"
        warm_up(port, size)
        beside_source, beside_rsa, costs = [], [], list[float]()
        for number in range(1, ROUNDS + 1):
            source = smtp_source(port, size=size, count=COUNT)
            spent = defaultdict[str, float](float)
            with processor.spent(spent):
                beside_source.append((sent(plain, number), source))
            costs.append(sum(spent.values()) / COUNT)
            bare = signatures(key)
            beside_rsa.append((sent(signed, number), bare))
        fresh = [(imported(number), source) for number, (_, source) in enumerate(beside_source)]
        fast = [(new_lane_rate(number + ROUNDS), source) for number, (_, source) in enumerate(beside_source)]
        audience.lane(connections=FEW_CONNECTIONS)
        few = [(imported(number + 2 * ROUNDS), source) for number, (_, source) in enumerate(beside_source)]
        name = f"ledgered letters of {size / 1000:.1f} KB"
        ours = median(own for own, _ in beside_source)
        return [
            figure(name, beside_source, f"smtp-source -d -s {SESSIONS}"),
            figure("  right after the list was imported", fresh, f"smtp-source -d -s {SESSIONS}"),
            figure("  and as a new site, whose connections grow", fast, f"smtp-source -d -s {SESSIONS}"),
            figure(f"  and over {FEW_CONNECTIONS} connections", few, f"smtp-source -d -s {SESSIONS}"),
            figure(f"{name}, RSA-signed", beside_rsa, "bare RSA-2048 signatures"),
            {
                "figure": "  processor of all processes, unsigned",
                "rate": median(costs) * 1e6,
                "unit": "µs/letter",
                "baseline": "most",
                "baseline_rate": MOST_MICROSECONDS,
                "ratio": median(costs) * 1e6 / MOST_MICROSECONDS,
            },
            rss2email.figure(ours, port),
        ]


def imported(number: int) -> float:
    """Return the rate right after an import, with tables as the import leaves them."""
    newsletter = audience.rows_of(f"imported{number}", readers=COUNT)
    vacuum_analyze(Destination, Subscription, rows=COUNT)
    count = publish(issue_id=audience.issue(newsletter, 1).pk, now=timezone.now())
    return rate_of(count)


def new_lane_rate(number: int) -> float:
    defaults = EmailChannel.lane
    Lane.objects.update(concurrency=defaults.concurrency, grown=defaults.grown)
    return imported(number)


def figure(name: str, pairs: list[Pair], baseline: str) -> dict[str, object]:
    return {
        "figure": name,
        "rate": median(ours for ours, _ in pairs),
        "unit": "letters/s",
        "baseline": baseline,
        "baseline_rate": median(bare for _, bare in pairs),
        "ratio": median(ours / bare for ours, bare in pairs),
    }


def warm_up(port: int, size: int) -> None:
    smtp_source(port, size=size, count=1000)
    sent(audience.newsletter("few", readers=100), 1)


def sent(newsletter: Subscribable, number: int) -> float:
    return rate_of(audience.publish_settled(audience.issue(newsletter, number)))


def rate_of(count: int) -> float:
    started = time.perf_counter()
    report = send_due()
    rate = count / (time.perf_counter() - started)
    assert report.sent == count, report
    assert not Delivery.objects.exclude(state="sent").exists()
    return rate


def signatures(key: SigningKey) -> float:
    started = time.perf_counter()
    for _ in range(SIGNATURES):
        key.signature(b"x" * 64)
    return SIGNATURES / (time.perf_counter() - started)
