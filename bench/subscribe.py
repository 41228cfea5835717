"""How many readers may sign up in a second, beside /healthz of the same server, which touches no database."""

import http.client
from urllib.parse import urlencode

from bench.web import Ask, answered, get, site
from subscriptions.models import Notice, Subscribable

# Each answer takes its twenty milliseconds, whatever the address: fewer readers would measure that.
READERS = 6
COUNT = 3_000
DOMAINS = 20
# What is limited in life is let through, so that all of them lead to a mail.
ENVIRONMENT = {
    "TRUSTED_PROXIES": "127.0.0.0/8",
    "SIGN_UP_LIMITS": "newsletter=1000000/hour, domain=1000000/hour",
}


def subscribe() -> list[dict[str, object]]:
    """New addresses, each from a network of its own; both rates in the same run, by as many readers."""
    newsletter = Subscribable.objects.create(name="letter", title="The letter")
    with site(**ENVIRONMENT) as port:
        health = answered(port, get("/healthz"), count=COUNT, readers=READERS)
        signed_up = answered(port, sign_up(f"/s/{newsletter.name}/"), count=COUNT, readers=READERS)
    assert Notice.objects.count() >= COUNT
    return [
        {
            "figure": f"sign-ups, p95 {signed_up.p95_ms:.0f} ms",
            "rate": signed_up.rate,
            "unit": "requests/s",
            "p95_ms": signed_up.p95_ms,
            "baseline": f"/healthz, {READERS} readers",
            "baseline_rate": health.rate,
            "ratio": signed_up.rate / health.rate,
        }
    ]


def sign_up(path: str) -> Ask:
    """Posts the form of that page, as a browser behind our proxy would."""

    def ask(connection: http.client.HTTPConnection, number: int) -> None:
        number += COUNT
        reader = f"2001:db8:{number // 65536:x}:{number % 65536:x}::1"
        body = urlencode({"email": f"reader{number}@mail{number % DOMAINS}.example", "name": "Ada"})
        headers = {"Content-Type": "application/x-www-form-urlencoded", "X-Forwarded-For": reader}
        connection.request("POST", path, body, headers)
        answer = connection.getresponse()
        answer.read()
        assert answer.status == 200, answer.status

    return ask
