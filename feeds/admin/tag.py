from collections.abc import Iterable
from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.admin import SimpleListFilter
from django.core.exceptions import ValidationError
from django.db.models import Count, QuerySet
from django.db.models.functions import Lower
from django.http import HttpRequest
from django.utils.html import escape
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget, UnfoldAdminTextInputWidget

from common.admin.html import column, list_link
from common.admin.model_admin import ServiceAdmin
from common.admin.page_words import EmptyList
from common.parts import Link, Part, Table
from common.ports.panels import Action, Panel
from common.text import pluralize
from feeds.models import Feed, Tag
from feeds.tags import delete_tags, rename_tag, tag_feeds, tags_in, untag_feeds

FEED_LISTS = (("Feeds", "feeds_feed"), ("Tags", "feeds_tag"))
MAX_LINE = 5000
SUGGESTED = 200
FEEDS_SHOWN = 100
OFFERED = 30


class TagsField(forms.CharField):
    """Names with commas; cleaned to a list."""

    def __init__(self, **kwargs: Any) -> None:
        kwargs.setdefault("label", "Tags")
        kwargs.setdefault("required", False)
        kwargs.setdefault("max_length", MAX_LINE)
        kwargs.setdefault("help_text", "Separate tags with commas.")
        widget = UnfoldAdminTextInputWidget(attrs={"placeholder": "news, machine learning"})
        super().__init__(widget=widget, **kwargs)

    def clean(self, value: Any) -> Any:
        try:
            return tags_in(super().clean(value))
        except ValidationError as error:
            raise ValidationError(error.messages) from error

    def has_changed(self, initial: Any, data: Any) -> bool:
        try:
            return {*tags_in(initial or "")} != {*tags_in(data or "")}
        except ValidationError:
            return True


def in_order(names: Iterable[str]) -> list[str]:
    return sorted(names, key=lambda name: (name.casefold(), name))


class AddTags(forms.Form):
    names = TagsField(required=True, error_messages={"required": "Enter at least one tag."})

    def __init__(self, keys: list[int], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.intro = f"{pluralize(len(keys), 'feed')} will get these tags, and keep the ones they have."
        if there := in_order(Tag.objects.values_list("name", flat=True)[:SUGGESTED]):
            text = f"Separate tags with commas. Existing tags: {', '.join(there)}."
            self.fields["names"].help_text = escape(text)  # shown as html


class RemoveTags(forms.Form):
    names = forms.MultipleChoiceField(
        label="Tags",
        error_messages={"required": "Choose at least one tag."},
        widget=UnfoldAdminCheckboxSelectMultipleWidget(),
    )

    def __init__(self, keys: list[int], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.intro = f"Which tags should {pluralize(len(keys), 'feed')} lose?"
        names = Tag.objects.filter(feeds__in=keys).distinct().values_list("name", flat=True)
        field: Any = self.fields["names"]
        field.choices = [(name, name) for name in in_order(names)]
        if not field.choices:
            self.intro = "None of these feeds has a tag."


def add_tags(request: HttpRequest, keys: list[int], *, names: list[str]) -> str:
    done = tag_feeds(feeds=keys, names=names)
    said = f"{pluralize(done, 'feed')} got {tags_in_words(names)}."
    return said if done == len(keys) else f"{said} {len(keys) - done:,} had it already."


def remove_tags(request: HttpRequest, keys: list[int], *, names: list[str]) -> str:
    done = untag_feeds(feeds=keys, names=names)
    return f"{pluralize(done, 'feed')} lost {tags_in_words(names)}."


def tags_in_words(names: list[str]) -> str:
    tags = ", ".join(f"“{name}”" for name in names)
    return f"the tag {tags}" if len(names) == 1 else f"the tags {tags}"


class TagFilter(SimpleListFilter):
    """Offers the most frequent tags; a tag's page links to others."""

    title = "Which tag?"
    parameter_name = "tag"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        used = Tag.objects.annotate(count=Count("feeds")).filter(count__gt=0)
        offered = list(used.order_by("-count", "name")[:OFFERED])
        chosen = str(request.GET.get(self.parameter_name, ""))
        if chosen.isdecimal() and chosen not in {str(tag.pk) for tag in offered}:
            offered += used.filter(pk=int(chosen[:18]))
        return [(str(tag.pk), tag.name) for tag in sorted(offered, key=lambda tag: tag.name.casefold())]

    def queryset(self, request: HttpRequest, queryset: "QuerySet[Any]") -> "QuerySet[Any]":
        value = str(self.value() or "")
        if not value:
            return queryset
        return queryset.filter(tags=int(value)) if value.isdecimal() and len(value) < 19 else queryset.none()


def its_feeds(tag: Tag) -> Part:
    feeds = tag.feeds.order_by("title", "pk")
    count = feeds.count()
    rows = ((Link(feed), feed.health) for feed in feeds[:FEEDS_SHOWN])
    every = list_link(Feed, f"See {pluralize(count, 'feed')} in the list", tag=tag.pk)
    return (Table(("feed", "health"), rows, "No feed has this tag."), every if count else "")


def what_deleting_does(keys: list[int]) -> list[str]:
    tags = Tag.objects.filter(pk__in=keys).annotate(count=Count("feeds"))
    return [f"“{tag}” is deleted, and removed from {pluralize(tag.count, 'feed')}." for tag in tags]


def delete(request: HttpRequest, keys: list[int]) -> str:
    return f"{pluralize(delete_tags(tags=keys), 'tag')} deleted."


@admin.register(Tag)
class TagAdmin(ServiceAdmin):
    """Tags are created by tagging feeds."""

    list_display = ("name", "shown_feeds")
    ordering = (Lower("name"),)
    search_fields = ("name",)
    beside = FEED_LISTS
    empty = EmptyList(
        "No tags yet",
        "Tags group your feeds. Add them on a feed’s page, in the list of feeds, or with an OPML file.",
        "Go to feeds",
        "admin:feeds_feed_changelist",
    )
    fieldsets = ((None, {"fields": ("name",)}),)
    own_panels = (Panel("Its feeds", its_feeds),)
    own_actions = (Action("drop", "Delete", delete, confirm=what_deleting_does, permission="drop"),)
    shown_feeds = column("feeds", lambda tag: list_link(Feed, f"{tag.count:,}", tag=tag.pk), ordering="count")

    def get_queryset(self, request: HttpRequest) -> "QuerySet[Tag]":
        every: QuerySet[Tag] = super().get_queryset(request)
        return every.annotate(count=Count("feeds"))

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def save_model(self, request: HttpRequest, obj: Tag, form: Any, change: bool) -> None:
        rename_tag(tag=obj, name=form.cleaned_data["name"])
