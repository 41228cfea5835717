"""Admin pages of bounces."""

from typing import Any

from django.contrib import admin
from django.contrib.admin import BooleanFieldListFilter, ChoicesFieldListFilter
from django.http import HttpRequest
from django.utils.safestring import SafeString
from unfold.decorators import display

from common.admin.flows import asks
from common.admin.html import facts, link_to, moment_of, when
from common.admin.model_admin import ReadOnlyAdmin
from common.admin.page_words import EmptyList
from common.clock import utcnow
from common.ports.panels import Action, Panel
from common.text import pluralize, shortened
from delivery.bounces.record import release_bounces
from delivery.models import Bounce
from subscriptions.admin.subscriber import PROBLEM_LISTS

# Two lines on a phone.
CHARACTERS_SHOWN = 64
BOUNCE_COLOURS = {
    "complaint": "danger",
    "hard": "danger",
    "soft": "warning",
    "policy": "warning",
    "delayed": "info",
    "unknown": "info",
}


def describe_bounce(bounce: Bounce) -> SafeString:
    rows: list[tuple[str, Any]] = [
        ("What", bounce.get_kind_display()),
        ("Received", when(bounce.at)),
        ("Address", link_to(bounce.destination) if bounce.destination else "Not known"),
        ("Delivery", link_to(bounce.delivery) if bounce.delivery else "Not known"),
        ("Names", bounce.recipient or "Nobody"),
        ("Status", bounce.status or "None"),
        ("Server’s answer", bounce.diagnostic or "None"),
        ("Result", bounce.effect),
    ]
    return facts(rows)


def suppress_held(request: HttpRequest, keys: list[int]) -> str:
    count = release_bounces(bounces=_held(keys), suppressing=True, now=utcnow())
    return f"{pluralize(count, 'address', 'addresses')} won’t be emailed any more."


def let_be(request: HttpRequest, keys: list[int]) -> str:
    count = release_bounces(bounces=_held(keys), suppressing=False, now=utcnow())
    return f"{pluralize(count, 'bounce')} ignored. We keep sending there."


def _held(keys: list[int]) -> list[Bounce]:
    return list(Bounce.objects.filter(pk__in=keys, held=True))


@admin.register(Bounce)
class BounceAdmin(ReadOnlyAdmin):
    list_display = ("whom", "shown_kind", "came", "said", "done")
    list_filter = (
        ("kind", asks("Which kind?", ChoicesFieldListFilter)),
        ("held", asks("Which are held for you?", BooleanFieldListFilter)),
    )
    empty = EmptyList(
        "No bounces yet",
        "This list shows emails that couldn’t be delivered, and complaints, with what we did about them."
        " “Check bounces” says whether Feedletter can receive them.",
        "Check bounces",
        "mail_check",
        "delivery.view_lane",
    )
    beside = PROBLEM_LISTS
    search_fields = ("destination__core", "recipient", "domain", "diagnostic", "status")
    list_select_related = ("destination",)
    own_panels = (Panel("About this bounce", describe_bounce, order=10),)
    own_actions = (
        Action("suppress_held", "Stop sending to held addresses", suppress_held, fits=lambda row: row.held),
        Action("let_be", "Keep sending to held addresses", let_be, fits=lambda row: row.held),
    )
    came = moment_of("at", "received")

    @display(description="address", ordering="recipient")
    def whom(self, bounce: Bounce) -> str:
        return str(bounce.destination or bounce.recipient or "not known")

    @display(description="what", label=BOUNCE_COLOURS, ordering="kind")
    def shown_kind(self, bounce: Bounce) -> tuple[str, str]:
        return bounce.kind, bounce.get_kind_display()

    @display(description="server’s answer", ordering="diagnostic")
    def said(self, bounce: Bounce) -> str:
        return shortened(bounce.diagnostic, CHARACTERS_SHOWN)

    @display(description="result", ordering="effect")
    def done(self, bounce: Bounce) -> str:
        return shortened(bounce.effect, CHARACTERS_SHOWN)
