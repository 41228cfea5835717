from dataclasses import dataclass
from typing import Any, ClassVar

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.text import capfirst
from unfold.admin import ModelAdmin

from common.text import pluralize


@dataclass(frozen=True, slots=True)
class EmptyList:
    """Shown instead of an empty list; `to` is a URL name that needs `permission`."""

    title: str
    words: str
    button: str = ""
    to: str = ""
    permission: str = ""


@dataclass(frozen=True, slots=True)
class ShownEmpty:
    title: str
    words: str
    button: str = ""
    url: str = ""


class PageWords(ModelAdmin):  # type: ignore[misc]
    """Lists are titled and counted in words for their rows, forms for their row."""

    empty: ClassVar[EmptyList] = EmptyList("Nothing here so far", "")
    # One and many, where the model's name is no word for them.
    rows: ClassVar[tuple[str, str] | None] = None

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        found = super().get_changelist_instance(request)
        found.is_narrowed = bool(found.query or found.get_filters_params())
        found.counted = self.counted(found)
        found.empty = self.shown_empty(request, is_narrowed=found.is_narrowed)
        return found

    def counted(self, found: Any) -> str:
        """Return "12,000 posts", or "more than 10,000 posts"."""
        more = "more than " if getattr(found.paginator, "has_more", False) else ""
        return more + pluralize(found.result_count, *self.row_words)

    @property
    def row_words(self) -> tuple[str, str]:
        return self.rows or (str(self.opts.verbose_name), str(self.opts.verbose_name_plural))

    def shown_empty(self, request: HttpRequest, *, is_narrowed: bool) -> ShownEmpty:
        if is_narrowed:
            words = "Nothing here fits what you search or filter for."
            return ShownEmpty("None like that", words, f"Show all {self.row_words[1]}", "?")
        empty = self.empty
        if empty.to and (not empty.permission or request.user.has_perm(empty.permission)):
            return ShownEmpty(empty.title, empty.words, empty.button, reverse(empty.to))
        return ShownEmpty(empty.title, empty.words)

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        title = {"title": capfirst(str(self.opts.verbose_name_plural))}
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
