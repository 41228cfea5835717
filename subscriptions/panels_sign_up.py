from django.utils.html import format_html
from django.utils.safestring import SafeString

from common.clock import utcnow
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


def turned_away(newsletter: Subscribable) -> SafeString | str:
    refusals = count_refusals(newsletter, now=utcnow())
    if not refusals:
        return ""
    reasons = "; ".join(f"{WHY[scope]} ({count:,})" for scope, count in sorted(refusals.items()))
    return format_html(
        '<p class="fl-alert">{} got no confirmation email in the last day: {}.'
        " SIGN_UP_LIMITS sets the limits.</p>",
        pluralize(sum(refusals.values()), "sign-up"),
        reasons,
    )
