from common.clock import utcnow
from common.parts import Part, Text
from common.ports.panels import Panel, add
from common.text import pluralize
from subscriptions.models import Subscribable
from subscriptions.subscribers.rate_limits import count_refusals

WHY = {
    "ip": "too many from one internet address",
    "address": "one address too often",
    "newsletter": "too many for this newsletter",
    "domain": "too many at one mail provider",
    "proxy": "too many from one address in your network, which is probably your proxy. Add it to"
    " TRUSTED_PROXIES, so that people's own addresses are counted",
}


def install() -> None:
    add("subscriptions.Subscribable", Panel("Refused sign-ups", turned_away, order=15, tab="subscribers"))


def turned_away(newsletter: Subscribable) -> Part:
    refusals = count_refusals(newsletter, now=utcnow())
    if not refusals:
        return ""
    reasons = "; ".join(f"{WHY[scope]} ({count:,})" for scope, count in sorted(refusals.items()))
    number = pluralize(sum(refusals.values()), "sign-up")
    words = f"{number} got no confirmation email in the last day: {reasons}. SIGN_UP_LIMITS sets the limits."
    return Text(words, "alert")
