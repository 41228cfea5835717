from dataclasses import dataclass, replace
from typing import Any, ClassVar
from urllib.parse import parse_qsl

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.text import capfirst
from unfold.admin import ModelAdmin

from common.access import newsletters_of, visible_to
from common.admin.html import may_open
from common.text import pluralize


@dataclass(frozen=True, slots=True)
class EmptyList:
    """Shown instead of an empty list; `to` is a URL name, or the URL once shown."""

    title: str
    words: str
    button: str = ""
    to: str = ""


@dataclass(frozen=True, slots=True)
class ListPart:
    """Rows that the menu lists as if they were a model of their kind; `query` selects them."""

    query: str
    rows: tuple[str, str]
    empty: EmptyList


def nobody_may(admin: Any, request: HttpRequest, obj: Any = None) -> bool:
    """For a permission of a ModelAdmin."""
    return False


class PageWords(ModelAdmin):  # type: ignore[misc]
    """Lists are titled and counted in words for their rows, forms for their row."""

    empty: ClassVar[EmptyList] = EmptyList("Nothing here so far", "")
    # One and many, where the model's name is no word for them.
    rows: ClassVar[tuple[str, str] | None] = None
    parts: ClassVar[tuple[ListPart, ...]] = ()
    # Lookup of a row's newsletter. Without one, users who work for some newsletters see none of these pages.
    scope: ClassVar[str] = ""
    # Large columns that lists and pages do not read with each row.
    deferred: ClassVar[tuple[str, ...]] = ()

    def get_queryset(self, request: HttpRequest) -> Any:
        rows = super().get_queryset(request).defer(*self.deferred)
        return visible_to(request.user, rows, self.scope)

    def get_actions_list(self, request: HttpRequest) -> Any:
        every = super().get_actions_list(request)
        return [each for each in every if may_open(reverse(f"admin:{each.action_name}"))]

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        related = self.admin_site._registry.get(db_field.remote_field.model)
        if related and newsletters_of(request.user) is not None:
            kwargs["queryset"] = related.get_queryset(request)
        return super().formfield_for_foreignkey(db_field, request, **kwargs)

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        found = super().get_changelist_instance(request)
        part = self.part(request)
        # Part of the address, not a filter that somebody chose.
        chosen = {name for name, value in parse_qsl(part.query) if request.GET.get(name) == value}
        found.is_narrowed = bool(found.query or set(found.get_filters_params()) - chosen)
        found.part, found.counted = part, self.counted(found, part)
        found.empty = self.shown_empty(request, part, is_narrowed=found.is_narrowed)
        return found

    def part(self, request: HttpRequest) -> ListPart:
        """Return the part that the address selects, else the whole list."""
        names = (str(self.opts.verbose_name), str(self.opts.verbose_name_plural))
        given = set(request.GET.items())
        selected = (each for each in self.parts if set(parse_qsl(each.query)) <= given)
        return next(selected, ListPart("", self.rows or names, self.empty))

    def counted(self, found: Any, part: ListPart) -> str:
        """Return "12,000 posts", or "more than 10,000 posts"."""
        more = "more than " if getattr(found.paginator, "has_more", False) else ""
        return more + pluralize(found.result_count, *part.rows)

    def shown_empty(self, request: HttpRequest, part: ListPart, *, is_narrowed: bool) -> EmptyList:
        if is_narrowed:
            words = "Nothing here fits what you search or filter for."
            return EmptyList("None like that", words, f"Show all {part.rows[1]}", f"?{part.query}")
        empty = part.empty
        if empty.to and may_open(url := reverse(empty.to)):
            return replace(empty, to=url)
        return EmptyList(empty.title, empty.words)

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        part = self.part(request)
        title = {"title": capfirst(part.rows[1] if part.query else str(self.opts.verbose_name_plural))}
        answer: HttpResponse = super().changelist_view(request, {**title, **(extra_context or {})})
        return answer

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        title = {"title": self.noun(object_id)}
        answer: HttpResponse = super().changeform_view(
            request, object_id, form_url, {**title, **(extra_context or {})}
        )
        return answer

    def noun(self, object_id: str | None) -> str:
        name = str(self.opts.verbose_name)
        return capfirst(name) if object_id else f"Add {name}"


def words_of(model: Any, one: str, many: str) -> None:
    """Rename another package's model; its Meta would need migrations."""
    model._meta.verbose_name, model._meta.verbose_name_plural = one, many
