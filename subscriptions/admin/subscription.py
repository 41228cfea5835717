from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin import ChoicesFieldListFilter
from django.core.exceptions import ValidationError
from django.db.models import Count, QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.functional import cached_property

from common.access import visible_to
from common.admin.html import column, moment_of, when
from common.admin.lists import asks
from common.admin.model_admin import ServiceAdmin, StyledForm
from common.admin.page_words import EmptyList
from common.clock import utcnow
from common.parts import Facts, Link, Part, Table
from common.ports import channels
from common.ports.panels import Action, CannotAct, Panel
from common.text import pluralize, shortened
from subscriptions.admin.list_import import ListPages
from subscriptions.admin.subscriber import (
    TagOfSubscriptionFilter,
    destinations_of,
    suppressed_words,
    tag_actions,
    tag_names,
)
from subscriptions.admin.subscription_filters import (
    MOST_FOUND,
    STATUS_COLOURS,
    AddedFilter,
    DisabledFilter,
    LanguageFilter,
    NewsletterFilter,
    PausedFilter,
    SuppressedFilter,
    search,
    shown_status,
    suppressed_cores,
)
from subscriptions.forms.admin import destination_form_fields, filled, refusal_by_field, shown_for
from subscriptions.models import FrequencyChange, Subscribable, Subscription
from subscriptions.subscribers import bulk
from subscriptions.subscribers.admin_changes import ask_again, revoke_links, save_details, subscribe
from subscriptions.subscribers.tags import fetch_tags

MOST_ASKED = 1000
CHANGES_SHOWN = 5
SUBSCRIPTION_HELP = {"language": "Language of confirmation and other service emails, for example en."}
SUBSCRIPTIONS_SHOWN, LONGEST_CONSENT_SHOWN = 50, 300


def _with_status(keys: list[int]) -> dict[str, int]:
    rows = Subscription.objects.filter(pk__any_of=frozenset(keys)).order_by()
    return dict(rows.values_list("status").annotate(n=Count("pk")))


def what_confirming_does(keys: list[int]) -> list[str]:
    counts = _with_status(keys)
    waiting, left = (
        counts.get(Subscription.Status.UNCONFIRMED, 0),
        counts.get(Subscription.Status.UNSUBSCRIBED, 0),
    )
    sentences = [
        f"{pluralize(waiting, 'subscriber')} will get the newsletter without confirming "
        "themselves. Only do this if you can prove that they agreed. No email is sent."
    ]
    if left:
        sentences.append(f"{pluralize(left, 'subscriber')} unsubscribed; only they can subscribe again.")
    if already := counts.get(Subscription.Status.CONFIRMED, 0):
        sentences.append(f"{pluralize(already, 'subscriber')} confirmed already and don’t change.")
    return sentences


def what_asking_does(keys: list[int]) -> list[str]:
    waiting = _with_status(keys).get(Subscription.Status.UNCONFIRMED, 0)
    return [f"{pluralize(waiting, 'subscriber')} will be emailed a link to confirm."]


def ask_chosen(request: HttpRequest, keys: list[int]) -> str:
    if len(keys) > MOST_ASKED:
        raise CannotAct(f"Ask at most {MOST_ASKED:,} people at once.")
    asked, others = ask_again(keys=keys, now=utcnow())
    said = f"{pluralize(asked, 'person', 'people')} asked to confirm."
    return f"{said} {others:,} not: asked a moment ago, or must not be emailed." if others else said


def what_ending_does(keys: list[int]) -> list[str]:
    counts = _with_status(keys)
    going = counts.get(Subscription.Status.CONFIRMED, 0) + counts.get(Subscription.Status.UNCONFIRMED, 0)
    sentences = [
        f"{pluralize(going, 'subscriber')} won’t get any more issues. They can subscribe again at any time."
    ]
    if left := counts.get(Subscription.Status.UNSUBSCRIBED, 0):
        sentences.append(f"{pluralize(left, 'subscriber')} unsubscribed already and don’t change.")
    return sentences


class MoveForm(StyledForm, forms.Form):
    to = forms.ChoiceField(
        label="To",
        help_text="Keeps their names, dates, proof of consent and links. No email is sent.",
        error_messages={"required": "Choose the newsletter."},
    )

    def __init__(self, keys: list[int], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        moving = bulk.movable(keys).count()
        self.intro = f"{pluralize(moving, 'subscriber')} can move to another newsletter."
        if staying := len(keys) - moving:
            self.intro += f" The other {staying:,} unsubscribed, never confirmed, or are changing frequency."
        field: Any = self.fields["to"]
        choices = []
        for target in bulk.targets(keys):
            there = f", {target.there:,} already get it" if target.there else ""
            words = f"{target.subscribable}: {target.moving:,} move{there}"
            choices.append((str(target.subscribable.pk), words))
        field.choices = choices
        if not choices:
            self.intro += " There is no other newsletter of the same channel."


def move_chosen(request: HttpRequest, keys: list[int], *, to: str) -> str:
    target = Subscribable.objects.filter(pk=to).first()
    if target is None:
        raise CannotAct("That newsletter was deleted.")
    moved = bulk.move_many(keys=keys, target=target, now=utcnow())
    return f"{pluralize(moved, 'subscriber')} moved to {target}."


def what_revoking_does(keys: list[int]) -> list[str]:
    count = pluralize(len(keys), "subscriber")
    return [
        f"All links in emails that {count} got so far stop working, including the unsubscribe links.",
        "New emails have new links. Do this if somebody else got hold of an email.",
    ]


def revoke_links_of_chosen(request: HttpRequest, keys: list[int]) -> str:
    for subscription in Subscription.objects.filter(pk__any_of=frozenset(keys)).order_by("pk").iterator():
        revoke_links(subscription=subscription)
    return f"The old links of {pluralize(len(keys), 'subscriber')} no longer work."


ACTIONS = (
    Action(
        "confirm",
        "Confirm",
        lambda _, keys: f"{pluralize(bulk.confirm_many(keys=keys, now=utcnow()), 'subscriber')} confirmed.",
        what_confirming_does,
        fits=lambda row: row.status == "unconfirmed",
    ),
    Action(
        "ask",
        "Ask to confirm",
        ask_chosen,
        what_asking_does,
        fits=lambda row: row.status == "unconfirmed" and row.subscribable.channel == "email",
    ),
    Action(
        "move",
        "Move to another newsletter",
        move_chosen,
        form=MoveForm,
        permission="everywhere",
        fits=lambda row: row.status == "confirmed",
    ),
    Action(
        "end",
        "Unsubscribe",
        lambda _, keys: (
            f"{pluralize(bulk.unsubscribe_many(keys=keys, now=utcnow()), 'subscriber')} unsubscribed."
        ),
        what_ending_does,
        fits=lambda row: row.status != "unsubscribed",
    ),
    Action("revoke", "Revoke links", revoke_links_of_chosen, what_revoking_does),
)


class SubscriberForm(StyledForm, forms.ModelForm):  # type: ignore[type-arg]
    """The page adds the fields of destinations."""

    class Meta:
        model = Subscription
        fields = ("subscribable",)

    is_confirmed = forms.BooleanField(
        label="Confirmed",
        required=False,
        initial=True,
        help_text="They have agreed already. If not, we email them a link to confirm.",
    )

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        if "subscribable" in data:
            with self.refusals_at_fields():
                self.kind.parse_destination(self.destination())
        return data

    @property
    def kind(self) -> channels.ChannelSpec:
        return channels.get(self.cleaned_data["subscribable"].channel)

    def destination(self) -> dict[str, str]:
        return filled(self.kind, self.kind.destination_fields, self.cleaned_data)

    @contextmanager
    def refusals_at_fields(self) -> Iterator[None]:
        """Show a refusal at the field it names, or the first."""
        try:
            yield
        except channels.InvalidDestination as error:
            first = self.kind.destination_fields[0].name
            raise ValidationError(refusal_by_field(self.kind, str(error), otherwise=first)) from error


def changes_of(subscription: Subscription) -> list[tuple[object, object]]:
    away = subscription.switches_away.select_related("new__subscribable", "rarer").order_by("-pk")[
        :CHANGES_SHOWN
    ]
    here = subscription.switches_here.select_related("old__subscribable", "rarer").order_by("-pk")[
        :CHANGES_SHOWN
    ]
    to = [(_title(one, "to"), Link(one.new, _said(one, one.new))) for one in away]
    return [*to, *((_title(one, "from"), Link(one.old, _said(one, one.old))) for one in here)]


def _title(switch: FrequencyChange, way: str) -> str:
    return f"{'Changed' if switch.settled_at else 'Changes'} {way}"


def _said(switch: FrequencyChange, other: Subscription) -> str:
    if switch.settled_at:
        return f"{other.subscribable}, {when(switch.settled_at)}"
    due = f"on {when(switch.at)}" if switch.at else f"with the next issue of {switch.rarer}"
    return f"{other.subscribable}, {due}"


def standing(subscription: Subscription) -> Part:
    to = subscription.destination
    why = f": {subscription.get_left_why_display()}" if subscription.left_why else ""
    is_paused = subscription.paused_until and subscription.paused_until > utcnow()
    why_disabled = to.disabled_reason or "Nothing is sent to this address."
    suppressed = to.suppression
    return Facts(
        ("Newsletter", Link(subscription.subscribable)),
        ("Address", Link(to)),
        ("Status", shown_status(subscription, is_suppressed=suppressed is not None)),
        ("Added", when(subscription.added_at)),
        ("Confirmed", when(subscription.confirmed_at, "Not yet")),
        ("Tags", tag_names(to)),
        ("Left", f"{when(subscription.left_at)}{why}" if subscription.left_at else ""),
        ("Paused until", when(subscription.paused_until) if is_paused else ""),
        *changes_of(subscription),
        ("Disabled", why_disabled if to.disabled_at else ""),
        ("Do not email", suppressed and Link(suppressed, suppressed_words(suppressed))),
    )


def others(subscription: Subscription, request: HttpRequest) -> Part:
    every = subscription.destination.subscriptions.exclude(pk=subscription.pk)
    rows = visible_to(request.user, every, "subscribable")
    shown = (
        (
            Link(row, row.subscribable),
            row.get_status_display(),
            when(row.left_at or row.confirmed_at or row.added_at),
        )
        for row in rows.select_related("subscribable").order_by("pk")[:SUBSCRIPTIONS_SHOWN]
    )
    return Table(("newsletter", "status", "since"), shown, "")


def how_they_agreed(subscription: Subscription) -> Part:
    return Table(
        ("what", "when", "how", "text they saw", "from"),
        (
            (
                row.get_act_display(),
                when(row.at),
                row.how,
                shortened(row.words, LONGEST_CONSENT_SHOWN),
                row.ip or "",
            )
            for row in subscription.consents.order_by("at", "pk")[:SUBSCRIPTIONS_SHOWN]
        ),
        "No proof of consent is stored.",
    )


@admin.register(Subscription)
class SubscriptionAdmin(ListPages, ServiceAdmin):
    """Rows are not deleted: imports must not restore people who left."""

    list_display = ("address", "display_name", "newsletter", "shown_status", "tags", "added")
    columns_before = "tags"
    list_per_page = 20
    list_filter = (
        NewsletterFilter,
        ("status", asks("Have they confirmed?", ChoicesFieldListFilter)),
        TagOfSubscriptionFilter,
        SuppressedFilter,
        DisabledFilter,
        PausedFilter,
        LanguageFilter,
        AddedFilter,
    )
    search_fields = ("destination__core",)
    search_help_text = (
        "An address from its beginning, a domain such as @example.org, or parts of a name."
        f" Finds the newest {MOST_FOUND:,}."
    )
    list_select_related = ("destination", "subscribable")
    # A million rows cannot be sorted for a page.
    ordering = ("-pk",)
    shown_after_adding = True
    scope = "subscribable"
    empty = EmptyList(
        "No subscriptions yet",
        "A subscription connects a person and a newsletter. People subscribe on a newsletter’s page or with"
        " the form on your site. You can also add them, or import a list.",
        "Add a subscriber",
        "admin:subscriptions_subscription_add",
    )
    own_panels = (
        Panel("Status", standing, order=10),
        Panel("How they agreed", how_they_agreed, order=15),
        Panel("Other newsletters", others, order=30, asks=True),
    )
    own_actions = (*ACTIONS, *tag_actions(destinations_of))
    added = moment_of("added_at", "added")
    address = column("address", lambda subscription: subscription.destination, ordering="destination")
    newsletter = column("newsletter", lambda subscription: subscription.subscribable, ordering="subscribable")
    tags = column("tags", lambda subscription: tag_names(subscription.destination))
    shown_status = column(
        "status", lambda row: shown_status(row, is_suppressed=row.is_suppressed), label=STATUS_COLOURS
    )

    def changeform_view(self, *args: Any, **kwargs: Any) -> HttpResponse:
        # Unfold reads conditional_fields for every field: the copy keeps them for this request.
        return super(SubscriptionAdmin, copy(self)).changeform_view(*args, **kwargs)

    @cached_property
    def conditional_fields(self) -> dict[str, str]:
        keys: dict[str, list[int]] = {}
        for pk, channel in Subscribable.objects.values_list("pk", "channel"):
            keys.setdefault(channel, []).append(pk)
        conditions = {channel: f"{pks}.includes(Number(subscribable))" for channel, pks in keys.items()}
        return shown_for("destination_fields", conditions)

    def get_search_results(
        self, request: HttpRequest, queryset: "QuerySet[Any]", search_term: str
    ) -> tuple["QuerySet[Any]", bool]:
        return search(queryset, search_term), False

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        new_form = type("SubscriberForm", (SubscriberForm,), destination_form_fields())
        chosen = {} if obj is not None else {"form": new_form}
        labels = {"subscribable": "Newsletter"}
        return super().get_form(
            request, obj, change=change, labels=labels, help_texts=SUBSCRIPTION_HELP, **{**chosen, **kwargs}
        )

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        if obj is not None:
            return (("Settings", {"fields": ("display_name", "language")}),)
        names = tuple(shown_for("destination_fields", {}))
        return ((None, {"fields": ("subscribable", *names, "is_confirmed")}),)

    def save_model(self, request: HttpRequest, obj: Subscription, form: Any, change: bool) -> None:
        if change:
            save_details(subscription=obj, name=obj.display_name, language=obj.language)
            return
        data = form.cleaned_data
        with form.refusals_at_fields():
            made = subscribe(
                subscribable=data["subscribable"],
                data=form.destination(),
                now=utcnow(),
                confirmed=data["is_confirmed"],
            )
        obj.pk, obj.destination = made.pk, made.destination
        waiting = made.status == Subscription.Status.UNCONFIRMED
        words = " and gets an email to confirm" if waiting else ""
        messages.success(request, f"{made.destination} was added{words}.")

    def noun(self, object_id: str | None) -> str:
        return super().noun(object_id) if object_id else "Add a subscriber"

    def get_queryset(self, request: HttpRequest) -> "QuerySet[Subscription]":
        rows: QuerySet[Subscription] = super().get_queryset(request)
        return rows.prefetch_related(fetch_tags("destination"))

    def look_up(self, rows: Sequence[Any]) -> None:
        super().look_up(rows)
        suppressed = suppressed_cores([row.destination for row in rows])
        for row in rows:
            row.is_suppressed = (row.destination.kind, row.destination.core) in suppressed
