"""The pages of subscribers."""

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString
from unfold.decorators import display

from common.admin import ServiceAdmin
from common.admin_html import facts, link_to, moment_of, when
from common.clock import utcnow
from common.panels import Action, Panel
from common.text import counted
from subscriptions.admin.subscriber_form import SubscriberForm, subscriber_form
from subscriptions.forms_channels import shown_for
from subscriptions.models import Subscribable, Subscription
from subscriptions.services.managing import rename
from subscriptions.services.subscribing import subscribe, unsubscribe

HELP = {"language": "Of what is mailed to them besides letters, for example en."}
LABELS = {"confirmed": "success", "not confirmed yet": "warning", "left": "danger"}


def standing(subscription: Subscription) -> SafeString:
    rows: list[tuple[str, Any]] = [
        ("Newsletter", link_to(subscription.subscribable)),
        ("Address", link_to(subscription.destination)),
        ("Status", subscription.get_status_display()),
        ("Added", when(subscription.added_at)),
        ("Confirmed", when(subscription.confirmed_at, "Not.")),
    ]
    if subscription.left_at:
        rows.append(("Left", when(subscription.left_at)))
    if subscription.destination.disabled_at:
        rows.append(
            ("Nothing is sent", subscription.destination.disabled_reason or "The address is disabled.")
        )
    return facts(rows)


def _active(keys: list[int]) -> "QuerySet[Subscription]":
    return Subscription.objects.filter(pk__in=keys).exclude(status=Subscription.Status.UNSUBSCRIBED)


def what_ending_does(keys: list[int]) -> list[str]:
    count = _active(keys).count()
    return [f"{counted(count, 'subscriber')} will get nothing more. They can subscribe again at any time."]


def end(request: HttpRequest, keys: list[int]) -> str:
    rows = list(_active(keys))
    for subscription in rows:
        unsubscribe(subscription=subscription, now=utcnow())
    return f"{counted(len(rows), 'subscriber')} unsubscribed."


@admin.register(Subscription)
class SubscriptionAdmin(ServiceAdmin):
    list_display = ("destination", "display_name", "newsletter", "shown_status", "added", "confirmed")
    list_filter = ("status", "subscribable")
    search_fields = ("destination__core", "display_name")
    list_select_related = ("destination", "subscribable")
    shown_after_adding = True
    own_panels = (Panel("How it stands", standing, order=10),)
    own_actions = (
        Action("end", "Unsubscribe", end, what_ending_does, fits=lambda row: row.status != "unsubscribed"),
    )
    added = moment_of("added_at", "added")
    confirmed = moment_of("confirmed_at", "confirmed")

    @property
    def conditional_fields(self) -> dict[str, str]:
        """A channel's fields are shown for the newsletters that use it."""
        keys: dict[str, list[int]] = {}
        for pk, channel in Subscribable.objects.values_list("pk", "channel"):
            keys.setdefault(channel, []).append(pk)
        conditions = {channel: f"{pks}.includes(Number(subscribable))" for channel, pks in keys.items()}
        return shown_for("destination_fields", conditions)

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        chosen = {} if obj is not None else {"form": subscriber_form()}
        labels = {"subscribable": "Newsletter"}
        return super().get_form(
            request, obj, change=change, labels=labels, help_texts=HELP, **{**chosen, **kwargs}
        )

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        if obj is not None:
            return (("Settings", {"fields": ("display_name", "language")}),)
        names = tuple(shown_for("destination_fields", {}))
        return ((None, {"fields": ("subscribable", *names, "is_confirmed")}),)

    def save_model(self, request: HttpRequest, obj: Subscription, form: Any, change: bool) -> None:
        if change:
            rename(subscription=obj, name=obj.display_name)
            Subscription.objects.filter(pk=obj.pk).update(language=obj.language)
            return
        made = add(form)
        obj.pk, obj.destination = made.pk, made.destination
        waiting = made.status == Subscription.Status.UNCONFIRMED
        said = " and is asked by mail to confirm" if waiting else ""
        messages.success(request, f"{made.destination} was added{said}.")

    def save_related(self, *args: Any) -> None:
        """There is nothing besides what the services saved."""

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        # Who has left is remembered, so that an import does not take them back.
        return False

    @display(description="newsletter", ordering="subscribable")
    def newsletter(self, subscription: Subscription) -> str:
        return str(subscription.subscribable)

    @display(description="status", label=LABELS)
    def shown_status(self, subscription: Subscription) -> str:
        return subscription.get_status_display()


def add(form: SubscriberForm) -> Subscription:
    """Subscribes what the form says. Raises InvalidDestination, at the form's field."""
    data = form.cleaned_data
    subscribable = data["subscribable"]
    with form.refusals_at_fields():
        return subscribe(
            subscribable=subscribable,
            data=form.destination(),
            now=utcnow(),
            confirmed=data["is_confirmed"],
        )
