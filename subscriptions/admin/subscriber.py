from collections.abc import Callable, Iterable
from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.admin import SimpleListFilter
from django.core.cache import cache
from django.core.exceptions import ValidationError
from django.db.models import Count, Exists, OuterRef, Prefetch, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, StreamingHttpResponse
from django.shortcuts import get_object_or_404
from django.urls import URLPattern, reverse
from django.utils.html import escape
from unfold.widgets import UnfoldAdminTextInputWidget

from common.access import opens_for
from common.admin.html import add_url, column, list_link, moment_of, when
from common.admin.lists import SEARCHED, LargeList, newest
from common.admin.model_admin import ServiceAdmin, StyledForm
from common.admin.page_words import EmptyList, PageWords, nobody_may
from common.admin.resources import actions_of
from common.parts import Button, Facts, Link, Part, Table, listed
from common.ports import channels
from common.ports.panels import Action, Panel
from common.text import pluralize
from feeds.admin.tag import tags_in_words
from subscriptions.admin.list_import import ListPages
from subscriptions.admin.subscription_filters import (
    ChannelFilter,
    PersonDisabledFilter,
    PersonNewsletterFilter,
    channel_name,
    people_found,
    shown_status,
    suppressed_cores,
)
from subscriptions.models import Destination, SubscriberTag, Subscription, Suppression, Tagging
from subscriptions.privacy.personal_data import data_file_of
from subscriptions.resources.subscribers import destinations, is_person, suppressions
from subscriptions.rules.tags import BadTag, tags_of_cell
from subscriptions.subscribers.tags import delete_tags, fetch_tags, rename_tag, tag_people, untag_people

LONGEST_TAG_LINE = 5000
OFFERED = 200
COUNTS, REMEMBERED = "subscribers:tags", 60
NO_TAG = "-"
SUBSCRIBER_LISTS = (("Subscribers", "subscriptions_destination"), ("Tags", "subscriptions_subscribertag"))
People = Callable[[list[int]], Iterable[int]]
NAMES_SHOWN = 5
NEWSLETTERS_NAMED = 5
GETS = ("confirmed", "unconfirmed")
PROBLEM_LISTS = (("Do not email", "subscriptions_suppression"), ("Bounces", "delivery_bounce"))


class TagNamesField(forms.CharField):
    """Cleans comma-separated names to a list."""

    def __init__(self, **kwargs: Any) -> None:
        widget = UnfoldAdminTextInputWidget(attrs={"placeholder": "press, friends of the harbour"})
        super().__init__(label="Tags", max_length=LONGEST_TAG_LINE, widget=widget, **kwargs)

    def clean(self, value: Any) -> Any:
        try:
            return list(tags_of_cell(super().clean(value)))
        except BadTag as error:
            raise ValidationError(str(error)) from error


class AddTagsForm(forms.Form):
    names = TagNamesField(error_messages={"required": "Enter at least one tag."})

    def __init__(self, keys: list[int], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.intro = "They get these tags, and keep the ones they have. Tags apply to all newsletters."
        text = "Separate tags with commas."
        if there := list(SubscriberTag.objects.values_list("name", flat=True)[:OFFERED]):
            text += f" Existing tags: {', '.join(there)}."
        self.fields["names"].help_text = escape(text)  # shown as HTML


class RemoveTagsForm(StyledForm, forms.Form):
    names = forms.MultipleChoiceField(label="Tags", error_messages={"required": "Choose at least one tag."})

    def __init__(self, keys: list[int], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        names = SubscriberTag.objects.values_list("name", flat=True)
        field: Any = self.fields["names"]
        field.choices = [(name, name) for name in names]
        self.intro = (
            "Which tags should they lose?" if field.choices else "Nobody has a tag yet. Use “Add tags” first."
        )


def tag_actions(people: People) -> tuple[Action, Action]:
    """`people` maps the list's keys to keys of addresses."""

    def add(request: HttpRequest, keys: list[int], *, names: list[str]) -> str:
        done = tag_people(destinations=people(keys), names=names)
        return f"{pluralize(done, 'person', 'people')} got {tags_in_words(names)}."

    def remove(request: HttpRequest, keys: list[int], *, names: list[str]) -> str:
        done = untag_people(destinations=people(keys), names=names)
        return f"{pluralize(done, 'person', 'people')} lost {tags_in_words(names)}."

    return (
        Action("add_tags", "Add tags", add, form=AddTagsForm, permission="everywhere"),
        Action("remove_tags", "Remove tags", remove, form=RemoveTagsForm, permission="everywhere"),
    )


def tag_names(destination: Destination) -> str:
    """No query if `taggings__tag` is prefetched."""
    tags = sorted((tagging.tag for tagging in destination.taggings.all()), key=lambda tag: tag.key)
    return ", ".join(tag.name for tag in tags)


def destinations_of(keys: list[int]) -> Iterable[int]:
    rows = Subscription.objects.filter(pk__any_of=frozenset(keys)).order_by()
    return rows.values_list("destination_id", flat=True)


class SubscriberTagFilter(SimpleListFilter):
    """`path`: from the rows to their address."""

    title = "Which tag do they have?"
    parameter_name = "tag"
    path = "pk"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        tags = [(str(tag.pk), tag.name) for tag in SubscriberTag.objects.all()[:OFFERED]]
        return [*tags, (NO_TAG, f"no tag, among the newest {SEARCHED:,}")] if tags else []

    def queryset(self, request: HttpRequest, queryset: "QuerySet[Any]") -> "QuerySet[Any]":
        value = str(self.value() or "")
        tagged = Tagging.objects.filter(destination=OuterRef(self.path))
        if value == NO_TAG:
            # If all people have tags, this would search a million.
            return newest(queryset).filter(~Exists(tagged))
        if not value:
            return queryset
        if not value.isdecimal() or len(value) > 18:
            return queryset.none()
        # For a rare tag, a scan of the newest rows would take long.
        tagged = Tagging.objects.filter(tag=int(value))
        return queryset.filter(**{f"{self.path}__in": tagged.values("destination")})


class TagOfSubscriptionFilter(SubscriberTagFilter):
    path = "destination"


def people_by_tag() -> dict[int, int]:
    """Cached: it reads all taggings."""
    counts: dict[int, int] | None = cache.get(COUNTS)
    if counts is None:
        rows = Tagging.objects.order_by().values_list("tag").annotate(n=Count("pk"))
        counts = {int(tag): int(count) for tag, count in rows}
        cache.set(COUNTS, counts, REMEMBERED)
    return counts


def what_deleting_does(keys: list[int]) -> list[str]:
    counts = people_by_tag()
    rows = SubscriberTag.objects.filter(pk__in=keys)
    people = (pluralize(counts.get(tag.pk, 0), "person", "people") for tag in rows)
    return [f"“{tag}” is deleted, and removed from {had}." for tag, had in zip(rows, people, strict=True)]


def delete_chosen(request: HttpRequest, keys: list[int]) -> str:
    return f"{pluralize(delete_tags(tags=keys), 'tag')} deleted."


@admin.register(SubscriberTag)
class SubscriberTagAdmin(ServiceAdmin):
    list_display = ("name", "people")
    search_fields = ("name",)
    beside = SUBSCRIBER_LISTS
    empty = EmptyList(
        "No tags yet",
        "Tags group your subscribers across newsletters. Imported lists can bring tags, or choose subscribers"
        " in their list, then “Add tags”.",
        "Go to subscribers",
        "admin:subscriptions_destination_changelist",
    )
    fieldsets = ((None, {"fields": ("name",)}),)
    has_add_permission = nobody_may
    own_actions = (Action("drop", "Delete", delete_chosen, confirm=what_deleting_does, permission="drop"),)
    people = column("people", lambda tag: list_link(Destination, people_by_tag().get(tag.pk, 0), tag=tag.pk))

    def save_model(self, request: HttpRequest, obj: SubscriberTag, form: Any, change: bool) -> None:
        rename_tag(tag=obj, name=form.cleaned_data["name"])


def about_address(destination: Destination) -> Part:
    suppressed = destination.suppression
    url = reverse("admin:subscriptions_destination_data", args=[destination.pk])
    data = Button(url, "Download a copy", is_plain=True)
    named = destination.subscriptions.exclude(display_name="").order_by("-pk")
    return Facts(
        ("Name", ", ".join(dict.fromkeys(named.values_list("display_name", flat=True)[:NAMES_SHOWN]))),
        ("Channel", channel_name(destination.kind)),
        ("Address", destination.core),
        ("Added", when(destination.added_at)),
        ("Tags", tag_names(destination)),
        ("Do not email", suppressed and suppressed_words(suppressed)),
        ("Disabled", when(destination.disabled_at, "")),
        ("Why", (destination.disabled_reason or "Not given.") if destination.disabled_at else ""),
        ("Their data", data if is_person(destination) else ""),
    )


def suppressed_words(row: Suppression) -> str:
    return f"since {when(row.created_at)}{f': {row.reason}' if row.reason else ''}"


def wanted(destination: Destination) -> Part:
    rows = destination.subscriptions.select_related("subscribable").order_by("pk")
    is_suppressed = bool(suppressed_cores([destination]))
    return Table(
        ("newsletter", "status", "since"),
        (
            (
                Link(row, row.subscribable),
                shown_status(row, is_suppressed=is_suppressed),
                when(row.left_at or row.confirmed_at or row.added_at),
            )
            for row in rows
        ),
        "They get no newsletter. Use “Add a subscriber” to add them to one.",
    )


def newsletters_of(person: Any) -> Part:
    shown = person.wanted[:NEWSLETTERS_NAMED]
    # Suppressed addresses get no confirmation mail.
    waits = "" if person.suppressed or person.disabled_at else " (not confirmed yet)"
    names: list[Part] = [
        Link(row, f"{row.subscribable}{waits if row.status != 'confirmed' else ''}") for row in shown
    ]
    if more := len(person.wanted) - len(shown):
        names.append(f"{more} more")
    return listed(names or ["–"])


@admin.register(Destination)
class DestinationAdmin(ListPages, LargeList):
    list_display = ("address", "newsletters", "tags", "added")
    list_per_page = 20
    columns_before = "tags"
    list_filter = (SubscriberTagFilter, PersonNewsletterFilter, PersonDisabledFilter, ChannelFilter)
    search_fields = ("core",)
    search_help_text = "An address from its beginning, whole, or a domain such as @example.org."
    ordering = ("-pk",)
    beside = SUBSCRIBER_LISTS
    empty = EmptyList(
        "No subscribers yet",
        "People subscribe on a newsletter’s page or with the form on your site, and confirm by email. You can"
        " also add people who have agreed already, or import a list.",
        "Add a subscriber",
        "admin:subscriptions_subscription_add",
    )
    address = column("address", lambda person: person.label)
    tags = column("tags", tag_names)
    newsletters = column("newsletters", newsletters_of)

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return request.user.has_perm("subscriptions.add_subscription")

    def add_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        return HttpResponseRedirect(add_url(Subscription))

    def get_queryset(self, request: HttpRequest) -> "QuerySet[Destination]":
        rows: QuerySet[Destination] = super().get_queryset(request)
        wanted = Subscription.objects.filter(status__in=GETS, ended_at=None).select_related("subscribable")
        same = Suppression.objects.filter(kind=OuterRef("kind"), core=OuterRef("core"))
        return (
            rows.filter(erased_at=None)
            .annotate(suppressed=Exists(same))
            .prefetch_related(
                fetch_tags(""), Prefetch("subscriptions", wanted.order_by("pk"), to_attr="wanted")
            )
        )

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        # Links may lead to erased ones.
        return Destination.objects.filter(pk=object_id).first() if object_id.isdecimal() else None

    def get_search_results(
        self, request: HttpRequest, queryset: "QuerySet[Any]", search_term: str
    ) -> tuple["QuerySet[Any]", bool]:
        return people_found(queryset, search_term), False

    def get_urls(self) -> list[URLPattern]:
        return [self.own_path("<int:pk>/data.json", self.data_view, "destination_data"), *super().get_urls()]

    @opens_for(lambda user: bool(user.has_perm("subscriptions.change_destination")))
    def data_view(self, request: HttpRequest, pk: int) -> StreamingHttpResponse:
        """Return the copy that the person gets at /mine/."""
        if not is_person(destination := get_object_or_404(Destination, pk=pk)):
            raise Http404
        return data_file_of(destination)

    own_panels = (Panel("About this person", about_address, order=10), Panel("Newsletters", wanted, order=20))
    own_actions = (*actions_of(destinations), *tag_actions(lambda keys: keys))
    added = moment_of("added_at", "added")


class SuppressionForm(StyledForm, forms.ModelForm):  # type: ignore[type-arg]
    """Normalizes the address, or it would match nobody."""

    kind = forms.ChoiceField(
        label="Channel",
        initial="email",
        choices=lambda: [(kind.key, kind.label) for kind in channels.all_kinds()],
    )

    class Meta:
        model = Suppression
        fields = ("kind", "core", "reason")

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        kind = {one.key: one for one in channels.person_kinds()}.get(data.get("kind", ""))
        if kind is not None and data.get("core"):
            try:
                data["core"] = channels.parse_typed(kind, data["core"]).core
            except channels.InvalidDestination as error:
                self.add_error("core", str(error))
        return data


@admin.register(Suppression)
class SuppressionAdmin(ServiceAdmin):
    form = SuppressionForm
    list_display = ("core", "channel", "shown_reason", "since")
    search_fields = ("core", "reason")
    list_filter = (ChannelFilter,)
    rows = ("address", "addresses")
    beside = PROBLEM_LISTS
    empty = EmptyList(
        "This list is empty",
        "Addresses that don’t exist, or whose owner complained, are added automatically. You can add"
        " addresses yourself. Nothing is sent to them.",
        "Add an address",
        "admin:subscriptions_suppression_add",
    )
    # No other rows depend on it.
    has_delete_permission = PageWords.has_delete_permission
    own_actions = actions_of(suppressions)
    since = moment_of("created_at", "since")
    channel = column("channel", lambda suppression: channel_name(suppression.kind), ordering="kind")
    # The first sentence. The object's page has the server's words.
    shown_reason = column("reason", lambda suppression: suppression.reason.partition(". ")[0])
