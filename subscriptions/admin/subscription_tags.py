"""Tags of people in the admin: the filter, the acts on many, and the pages of tags themselves."""

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


class TagNamesField(forms.CharField):
    """Names with commas between them; cleaned to a list."""

    def __init__(self, **kwargs: Any) -> None:
        widget = UnfoldAdminTextInputWidget(attrs={"placeholder": "press, friends of the harbour"})
        super().__init__(label="Tags", max_length=LONGEST_TAG_LINE, widget=widget, **kwargs)

    def clean(self, value: Any) -> Any:
        try:
            return list(tags_of_cell(super().clean(value)))
        except BadTag as error:
            raise ValidationError(str(error)) from error


class AddTagsForm(forms.Form):
    names = TagNamesField(error_messages={"required": "Give at least one tag."})

    def __init__(self, keys: list[int], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.intro = "They get these tags besides those they have, whatever newsletters they get."
        text = "Separate them by commas."
        if there := list(SubscriberTag.objects.values_list("name", flat=True)[:OFFERED]):
            text += f" There are so far: {', '.join(there)}."
        self.fields["names"].help_text = escape(text)  # which is shown as html


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
            "Which tags should they lose?"
            if field.choices
            else "Nobody has a tag yet. “Add tags” gives them one."
        )


People = Callable[[list[int]], Iterable[int]]


def tag_actions(people: People) -> tuple[Action, Action]:
    """The two acts for a list whose rows' keys `people` turns into keys of addresses."""

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
    """Of rows with `taggings__tag` fetched, it asks nothing more."""
    tags = sorted((tagging.tag for tagging in destination.taggings.all()), key=lambda tag: tag.key)
    return ", ".join(tag.name for tag in tags)


def destinations_of(keys: list[int]) -> Iterable[int]:
    """The addresses of subscriptions."""
    rows = Subscription.objects.filter(pk__any_of=frozenset(keys)).order_by()
    return rows.values_list("destination_id", flat=True)


class SubscriberTagFilter(SimpleListFilter):
    """Those who have a tag, or none. `path` is where the rows have their address."""

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
            # Where everybody has a tag, all of a million would be looked at to find nobody.
            return newest(queryset).filter(~Exists(tagged))
        if not value:
            return queryset
        if not value.isdecimal() or len(value) > 18:
            return queryset.none()
        # By the tag's own index: of a rare tag the newest rows would have to be looked for very long.
        tagged = Tagging.objects.filter(tag=int(value))
        return queryset.filter(**{f"{self.path}__in": tagged.values("destination")})


class TagOfSubscriptionFilter(SubscriberTagFilter):
    path = "destination"


def people_by_tag() -> dict[int, int]:
    """How many people have each tag. It reads all of it, so it is remembered for a minute."""
    found: dict[int, int] | None = cache.get(COUNTS)
    if found is None:
        rows = Tagging.objects.order_by().values_list("tag").annotate(n=Count("pk"))
        found = {int(tag): int(count) for tag, count in rows}
        cache.set(COUNTS, found, REMEMBERED)
    return found


def what_deleting_does(keys: list[int]) -> list[str]:
    counts = people_by_tag()
    rows = SubscriberTag.objects.filter(pk__in=keys)
    said = (pluralize(counts.get(tag.pk, 0), "person", "people") for tag in rows)
    return [f"“{tag}” is deleted; {had} stay without it." for tag, had in zip(rows, said, strict=True)]


def delete_chosen(request: HttpRequest, keys: list[int]) -> str:
    return f"{pluralize(delete_tags(tags=keys), 'tag')} deleted."


@admin.register(SubscriberTag)
class SubscriberTagAdmin(ServiceAdmin):
    """Tags come with people, by a list or by hand; here they are renamed, and deleted."""

    list_display = ("name", "people")
    search_fields = ("name",)
    empty = EmptyList(
        "No subscriber has a tag",
        "Tags sort subscribers into groups, whatever newsletters they get. A list that you import may bring"
        " them; or choose subscribers in their list, then “Add tags”.",
        "Go to the subscribers",
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
