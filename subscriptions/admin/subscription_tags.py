from collections.abc import Callable, Iterable
from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.admin import SimpleListFilter
from django.core.cache import cache
from django.core.exceptions import ValidationError
from django.db.models import Count, Exists, OuterRef, QuerySet
from django.http import HttpRequest
from django.utils.html import escape
from django.utils.safestring import SafeString
from unfold.decorators import display
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget, UnfoldAdminTextInputWidget

from common.admin.html import list_link
from common.admin.lists import SEARCHED, newest
from common.admin.model_admin import ServiceAdmin
from common.admin.page_words import EmptyList
from common.ports.panels import Action
from common.text import pluralize
from subscriptions.models import Destination, SubscriberTag, Subscription, Tagging
from subscriptions.rules.tags import BadTag, tags_of_cell
from subscriptions.subscribers.tags import delete_tags, rename_tag, tag_people, untag_people

LONGEST_TAG_LINE = 5000
OFFERED = 200
COUNTS, REMEMBERED = "subscribers:tags", 60
NO_TAG = "-"
SUBSCRIBER_LISTS = (("Subscribers", "subscriptions_destination"), ("Tags", "subscriptions_subscribertag"))


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


class RemoveTagsForm(forms.Form):
    names = forms.MultipleChoiceField(
        label="Tags",
        error_messages={"required": "Choose at least one tag."},
        widget=UnfoldAdminCheckboxSelectMultipleWidget(),
    )

    def __init__(self, keys: list[int], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        names = SubscriberTag.objects.values_list("name", flat=True)
        field: Any = self.fields["names"]
        field.choices = [(name, name) for name in names]
        self.intro = (
            "Which tags should they lose?" if field.choices else "Nobody has a tag yet. Use “Add tags” first."
        )


People = Callable[[list[int]], Iterable[int]]


def tag_actions(people: People) -> tuple[Action, Action]:
    """`people` maps the list's keys to keys of addresses."""

    def add(request: HttpRequest, keys: list[int], *, names: list[str]) -> str:
        done = tag_people(destinations=people(keys), names=names)
        return f"{pluralize(done, 'person', 'people')} got {_named(names)}."

    def remove(request: HttpRequest, keys: list[int], *, names: list[str]) -> str:
        done = untag_people(destinations=people(keys), names=names)
        return f"{pluralize(done, 'person', 'people')} lost {_named(names)}."

    return (
        Action("add_tags", "Add tags", add, form=AddTagsForm),
        Action("remove_tags", "Remove tags", remove, form=RemoveTagsForm),
    )


def _named(names: list[str]) -> str:
    tags = ", ".join(f"“{name}”" for name in names)
    return f"the tag {tags}" if len(names) == 1 else f"the tags {tags}"


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
        "subscriptions.view_destination",
    )
    fieldsets = ((None, {"fields": ("name",)}),)
    own_actions = (Action("drop", "Delete", delete_chosen, confirm=what_deleting_does, permission="drop"),)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def save_model(self, request: HttpRequest, obj: SubscriberTag, form: Any, change: bool) -> None:
        rename_tag(tag=obj, name=form.cleaned_data["name"])

    @display(description="people")
    def people(self, tag: SubscriberTag) -> SafeString:
        return list_link(Destination, f"{people_by_tag().get(tag.pk, 0):,}", tag=tag.pk)
