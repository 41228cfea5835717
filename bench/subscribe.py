"""Sign-ups a second, beside /healthz of the same server, which uses no database."""

import http.client
from statistics import median
from urllib.parse import urlencode

from bench.web import Ask, answered, get, site
from subscriptions.models import Notice, Subscribable

# Each answer takes twenty milliseconds; fewer readers would measure that.
READERS = 8
COUNT = 1_500
ROUNDS = 5
DOMAINS = 20
# No limits, so that each sign-up sends a mail.
ENVIRONMENT = {
    "TRUSTED_PROXIES": "127.0.0.0/8",
    "SIGN_UP_LIMITS": "newsletter=1000000/hour, domain=1000000/hour",
}


def subscribe() -> list[dict[str, object]]:
    """Alternate rounds. Each address has its own network."""
    newsletter = Subscribable.objects.create(name="letter", title="The letter")
    with site(**ENVIRONMENT) as port:
        rounds = []
        for number in range(ROUNDS):
            health = answered(port, get("/healthz"), count=COUNT, readers=READERS)
            signing_up = sign_up(f"/s/{newsletter.name}/", first=2 * number * COUNT)
            rounds.append((answered(port, signing_up, count=COUNT, readers=READERS), health))
    assert Notice.objects.count() >= ROUNDS * COUNT
    p95_ms = median(signed_up.p95_ms for signed_up, _ in rounds)
    return [
        {
            "figure": f"sign-ups, p95 {p95_ms:.0f} ms",
            "rate": median(signed_up.rate for signed_up, _ in rounds),
            "unit": "requests/s",
            "p95_ms": p95_ms,
            "baseline": f"/healthz, {READERS} readers",
            "baseline_rate": median(health.rate for _, health in rounds),
            "ratio": median(signed_up.rate / health.rate for signed_up, health in rounds),
        }
    ]


def sign_up(path: str, *, first: int) -> Ask:
    def ask(connection: http.client.HTTPConnection, number: int) -> None:
        number += first + COUNT
        reader = f"2001:db8:{number % 65536:x}:{number // 65536:x}::1"
        body = urlencode({"email": f"reader{number}@mail{number % DOMAINS}.example", "name": "Ada"})
        headers = {"Content-Type": "application/x-www-form-urlencoded", "X-Forwarded-For": reader}
        connection.request("POST", path, body, headers)
        answer = connection.getresponse()
        answer.read()
        assert answer.status == 303, answer.status

    return ask
