"""Admin pages of deliveries and bounces."""

from typing import Any

from django.contrib import admin, messages
from django.contrib.admin import BooleanFieldListFilter, ChoicesFieldListFilter, SimpleListFilter
from django.db.models import Q, QuerySet
from django.http import HttpRequest

from channels.rules.sms_words import CODE_WORDS
from common.admin.html import column, moment_of, when
from common.admin.lists import FewChoices, LargeList, asks, newest
from common.admin.model_admin import ReadOnlyAdmin
from common.admin.page_words import EmptyList
from common.admin.resources import actions_of
from common.clock import utcnow
from common.parts import Facts, Link, Part, Table
from common.ports.channels import all_kinds
from common.ports.panels import Panel
from common.program import MANAGE
from common.text import shortened
from delivery.admin.issue_panels import version_words
from delivery.issues.item_fate import changed_delivery, changes_of
from delivery.issues.pause import is_paused
from delivery.lanes.lanes import day_is_full
from delivery.models import Bounce, Delivery, LaneDomain, Receipt
from delivery.models.delivery import NOT_FINISHED
from delivery.resources.deliveries import bounces, deliveries
from subscriptions.admin.subscriber import PROBLEM_LISTS
from subscriptions.models import Destination

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
# More matches only if little was typed.
MOST_ADDRESSES_FOUND = 200
DELIVERY_COLOURS = {
    "queued": "info",
    "sending": "info",
    "sent": "success",
    "stored": "success",
    "deferred": "warning",
    "failed": "danger",
    "held": "danger",
    "cancelled": "warning",
}
ATTEMPTS_SHOWN = 50


def waits_for(delivery: Delivery) -> Part:
    """Explain a hold; "" for deliveries that are done or will be sent in due time."""
    if delivery.state == Delivery.State.HELD:
        match delivery.held_for:
            case Delivery.HeldFor.PAUSE:
                return _paused(delivery) or "The pause has ended: it is sent in a moment."
            case Delivery.HeldFor.DOMAIN:
                return _domain(delivery) or "Its domain’s pause has ended: it is sent in a moment."
            case Delivery.HeldFor.RESTORE:
                return (
                    "For you: a backup was restored, so it may have been sent since."
                    f" “{MANAGE} after_restore” sends it."
                )
        return (
            "For you: nobody knows whether it arrived. Ask the recipient, or try again now;"
            " it may arrive twice then."
        )
    if delivery.state not in (Delivery.State.QUEUED, Delivery.State.DEFERRED):
        return ""
    if said := _paused(delivery) or _domain(delivery):
        return said
    lane, now = delivery.lane, utcnow()
    if lane.paused:
        return (Link(lane), f" is paused: {lane.paused_reason} Resume it to send this.")
    if delivery.due_at > now or not day_is_full(lane, now):
        return ""
    said = " has sent as many messages as it may within 24 hours. Sending continues automatically."
    return (Link(lane), said)


def _paused(delivery: Delivery) -> Part:
    issue = delivery.issue
    if issue is None or not is_paused(issue):
        return ""
    if issue.paused_at is not None:
        return (Link(issue), " is paused. Resume it to send this.")
    newsletter = issue.subscribable
    return (Link(newsletter), f" is paused: {newsletter.sending_paused_reason} Resume it to send this.")


def _domain(delivery: Delivery) -> Part:
    paused = LaneDomain.objects.filter(lane=delivery.lane_id, domain=delivery.domain, paused=True).first()
    if paused is None:
        return ""
    why = f": {paused.paused_reason} Resume them there to send this."
    return (f"Emails to {delivery.domain} are paused in ", Link(delivery.lane), why)


def describe_delivery(delivery: Delivery) -> Part:
    post = changed_delivery(delivery)
    receipt = Receipt.objects.filter(delivery=delivery).first()
    return Facts(
        ("State", delivery.get_state_display().lower()),
        ("To", Link(delivery.destination)),
        ("What", Link(delivery.issue) if delivery.issue else delivery.get_kind_display()),
        ("Of", post and Link(post)),
        ("Subscriber", Link(delivery.subscription) if delivery.subscription else "–"),
        ("Queued", when(delivery.created_at)),
        ("Sent from", when(delivery.due_at) if delivery.state in ("queued", "deferred") else ""),
        ("Waits for", waits_for(delivery)),
        ("Text", version_words(delivery.issue, delivery.version) if delivery.issue else ""),
        ("Sent", when(delivery.sent_at, "")),
        ("The server’s id for it", delivery.remote_id),
        ("Later report of the service", receipt and receipt_words(receipt)),
        ("Last error", delivery.last_error),
        ("Sent through", Link(delivery.lane)),
    )


def receipt_words(receipt: Receipt) -> str:
    why = CODE_WORDS.get(receipt.code, f"The service’s code: {receipt.code}." if receipt.code else "")
    return f"{receipt.get_status_display().capitalize()}, {when(receipt.at)}. {why}".strip()


def post_changed_later(delivery: Delivery) -> Part:
    """List later edits and the deletion of a post, or return ""."""
    changes = changes_of([delivery]).get(delivery.pk)
    if changes is None:
        return ""
    return Table(
        ("what", "when", "result"),
        (
            (
                Link(row, row.get_kind_display()),
                when(row.sent_at or row.created_at),
                ": ".join(filter(None, (row.get_state_display().lower(), row.last_error))),
            )
            for row in changes.every
        ),
        "",
    )


def failed_attempts(delivery: Delivery) -> Part:
    rows = delivery.attempt_rows.order_by("-at", "-pk")[:ATTEMPTS_SHOWN]
    return Table(
        ("when", "outcome", "status", "the server’s answer"),
        ((when(row.at), row.outcome, row.status, row.text) for row in rows),
        "No attempt has failed.",
    )


class KindFilter(SimpleListFilter):
    """Kinds other than issues also filter by `issue=None`: those rows have an index."""

    title = "What kind of mail is it?"
    parameter_name = "kind__exact"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(str(value), str(label)) for value, label in Delivery.Kind.choices]

    def queryset(self, request: HttpRequest, queryset: "QuerySet[Any]") -> "QuerySet[Any]":
        match self.value():
            case None:
                return queryset
            case Delivery.Kind.ISSUE.value:
                return queryset.filter(kind=Delivery.Kind.ISSUE)
            case kind:
                return queryset.filter(kind=kind, issue=None)


class LaneFilter(FewChoices):
    """Unfinished deliveries of a lane. Find others by newsletter."""

    def queryset(self, request: HttpRequest, queryset: "QuerySet[Any]") -> "QuerySet[Any] | None":
        chosen: QuerySet[Any] | None = super().queryset(request, queryset)
        return chosen.filter(state__in=NOT_FINISHED) if chosen is not None and self.lookup_val else chosen


@admin.register(Delivery)
class DeliveryAdmin(LargeList):
    list_display = ("address", "what", "shown_state", "sent", "last_error")
    list_filter = (
        ("state", asks("Which arrived, and which did not?", ChoicesFieldListFilter)),
        ("held_for", asks("What are they held for?", ChoicesFieldListFilter)),
        KindFilter,
        ("lane", asks("In which lane do they wait?", LaneFilter)),
        ("issue__subscribable", asks("Of which newsletter?", FewChoices)),
    )
    search_fields = ("destination__core",)
    deferred = ("issue__html", "issue__text")
    search_help_text = (
        "An address, or how it begins. A domain, or the mail server’s id: among the newest 20,000 deliveries."
    )
    list_select_related = ("destination", "issue")
    empty = EmptyList(
        "Nothing has been sent so far",
        "Every message to a subscriber is listed here, with the mail server’s answer. The first ones are sent"
        " with a newsletter’s first issue, or when somebody subscribes.",
        "Go to the newsletters",
        "admin:subscriptions_subscribable_changelist",
    )
    own_panels = (
        Panel("Status", describe_delivery, order=10),
        Panel("Changes after posting", post_changed_later, order=15),
        Panel("What went wrong", failed_attempts, order=20),
    )
    own_actions = actions_of(deliveries)
    sent = moment_of("sent_at", "sent")
    address = column("address", lambda delivery: delivery.destination)
    shown_state = column("state", lambda row: (row.state, row.get_state_display()), label=DELIVERY_COLOURS)
    what = column("what", lambda delivery: delivery.issue or delivery.get_kind_display())

    def get_search_results(
        self, request: HttpRequest, queryset: "QuerySet[Delivery]", search_term: str
    ) -> "tuple[QuerySet[Delivery], bool]":
        """Search addresses by prefix (indexed), and other words among the newest rows."""
        words = search_term.strip().lower().lstrip("@")
        if not words:
            return queryset, False
        kinds = [kind.key for kind in all_kinds()]
        found = Destination.objects.filter(kind__in=kinds, core__startswith=words)
        keys = list(found.order_by("kind", "core").values_list("pk", flat=True)[: MOST_ADDRESSES_FOUND + 1])
        if len(keys) > MOST_ADDRESSES_FOUND:
            messages.info(
                request, f"More than {MOST_ADDRESSES_FOUND} addresses begin like that: type more of it."
            )
        if keys:
            return queryset.filter(destination__in=keys[:MOST_ADDRESSES_FOUND]), False
        if "@" in words:
            return queryset.none(), False
        return newest(queryset).filter(Q(domain=words) | Q(remote_id__icontains=words)), False


def describe_bounce(bounce: Bounce) -> Part:
    return Facts(
        ("What", bounce.get_kind_display()),
        ("Received", when(bounce.at)),
        ("Address", Link(bounce.destination) if bounce.destination else "Not known"),
        ("Delivery", Link(bounce.delivery) if bounce.delivery else "Not known"),
        ("Names", bounce.recipient or "Nobody"),
        ("Status", bounce.status or "None"),
        ("Server’s answer", bounce.diagnostic or "None"),
        ("Result", bounce.effect),
    )


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
    )
    beside = PROBLEM_LISTS
    search_fields = ("destination__core", "recipient", "domain", "diagnostic", "status")
    list_select_related = ("destination",)
    own_panels = (Panel("About this bounce", describe_bounce, order=10),)
    own_actions = actions_of(bounces)
    came = moment_of("at", "received")
    done = column("result", lambda bounce: shortened(bounce.effect, CHARACTERS_SHOWN), ordering="effect")
    whom = column(
        "address", lambda row: str(row.destination or row.recipient or "not known"), ordering="recipient"
    )
    shown_kind = column(
        "what", lambda row: (row.kind, row.get_kind_display()), label=BOUNCE_COLOURS, ordering="kind"
    )
    said = column(
        "server’s answer", lambda row: shortened(row.diagnostic, CHARACTERS_SHOWN), ordering="diagnostic"
    )
