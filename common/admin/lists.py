import csv
from collections.abc import Iterator, Mapping
from io import StringIO
from typing import Any

from django.contrib.admin import FieldListFilter, RelatedFieldListFilter
from django.core.paginator import Paginator
from django.db.models import Model, QuerySet
from django.http import HttpRequest, StreamingHttpResponse
from django.utils.functional import cached_property

from common.access import newsletters_of
from common.admin.model_admin import ReadOnlyAdmin

FLUSHED = 64 * 1024
# Rows that a search without an index reads.
SEARCHED = 20_000


def as_csv(rows: Iterator[list[str]], name: str) -> StreamingHttpResponse:
    """The file has a byte order mark, which spreadsheets need to read UTF-8."""
    answer = StreamingHttpResponse(_pieces(rows), content_type="text/csv; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="{name}"'
    answer["Cache-Control"] = "no-store"
    return answer


def _pieces(rows: Iterator[list[str]]) -> Iterator[str]:
    buffer = StringIO()
    buffer.write("\ufeff")
    writer = csv.writer(buffer)
    for row in rows:
        writer.writerow(row)
        if buffer.tell() >= FLUSHED:
            yield buffer.getvalue()
            buffer.seek(0)
            buffer.truncate()
    yield buffer.getvalue()


def newest(rows: "QuerySet[Any]") -> "QuerySet[Any]":
    """Keep rows among the newest SEARCHED of the table."""
    keys = rows.model._default_manager.order_by("-pk").values_list("pk", flat=True)
    older = list(keys[SEARCHED : SEARCHED + 1])
    return rows.filter(pk__gt=older[0]) if older else rows


class BoundedPaginator(Paginator):  # type: ignore[type-arg]
    MOST = 10_000

    @cached_property
    def count(self) -> int:
        # The list's order has an index.
        rows: Any = self.object_list
        return min(int(rows[: self.MOST + 1].count()), self.MOST)

    @property
    def has_more(self) -> bool:
        return self.count == self.MOST


class LargeList(ReadOnlyAdmin):
    paginator = BoundedPaginator
    list_per_page = 30
    # No other order has an index.
    sortable_by = ()


class FewChoices(RelatedFieldListFilter):
    """At most MOST choices, else only the chosen one."""

    MOST = 50

    def field_choices(self, field: Any, request: HttpRequest, model_admin: Any) -> Any:
        rows = field.remote_field.model._default_manager
        choices: list[Model] = list(rows.order_by("pk")[: self.MOST + 1])
        if len(choices) > self.MOST:
            chosen = request.GET.get(self.lookup_kwarg, "")
            choices = list(rows.filter(pk=chosen)) if chosen.isdecimal() else []
        return [(row.pk, str(row)) for row in choices]

    def has_output(self) -> bool:
        return bool(self.lookup_choices or self.lookup_val)


def asks(
    question: str, usual: type[FieldListFilter], answers: Mapping[str, str] | None = None
) -> type[FieldListFilter]:
    """Return a filter with a question as its title; `answers` replaces labels."""

    class Question(usual):  # type: ignore[misc, valid-type]
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            self.title = question

        def field_choices(self, field: Any, request: HttpRequest, model_admin: Any) -> Any:
            if newsletters_of(request.user) is None:
                return super().field_choices(field, request, model_admin)
            rows = model_admin.admin_site._registry[field.remote_field.model].get_queryset(request)
            return field.get_choices(include_blank=False, limit_choices_to={"pk__in": rows.values("pk")})

        def choices(self, changelist: Any) -> Iterator[dict[str, Any]]:
            for choice in super().choices(changelist):
                words = str(choice["display"])
                yield choice | {"display": (answers or {}).get(words, words)}

    # Templates check the name of the class.
    Question.__name__ = usual.__name__
    return Question
