"""Lists of rows by the million: counted up to a bound, in the order of an index, with short filters."""

import csv
from collections.abc import Callable, Iterator
from typing import Any

from django.contrib.admin import RelatedFieldListFilter
from django.core.paginator import Paginator
from django.db.models import Model, QuerySet
from django.http import HttpRequest, StreamingHttpResponse
from django.utils.functional import cached_property

from common.admin.model_admin import ReadOnlyAdmin

FLUSHED = 64 * 1024


def as_csv(rows: Iterator[list[str]], name: str) -> StreamingHttpResponse:
    """A file that spreadsheets open as UTF-8."""
    answer = StreamingHttpResponse(_pieces(rows), content_type="text/csv; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="{name}"'
    answer["Cache-Control"] = "no-store"
    return answer


class _Buffer:
    """Collects what a csv writer writes, until there is enough for a piece."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.size = 0

    def write(self, text: str) -> None:
        self.parts.append(text)
        self.size += len(text)

    def take(self) -> str:
        text = "".join(self.parts)
        self.parts, self.size = [], 0
        return text


def _pieces(rows: Iterator[list[str]]) -> Iterator[str]:
    buffer = _Buffer()
    buffer.write("\ufeff")
    write: Callable[[list[str]], Any] = csv.writer(buffer).writerow
    for row in rows:
        write(row)
        if buffer.size >= FLUSHED:
            yield buffer.take()
    yield buffer.take()


# A search that no index serves looks at so many of the newest rows.
SEARCHED = 20_000


def newest(rows: "QuerySet[Any]") -> "QuerySet[Any]":
    """Those of the rows that are among the newest of all, in whatever order they are."""
    keys = rows.model._default_manager.order_by("-pk").values_list("pk", flat=True)
    older = list(keys[SEARCHED : SEARCHED + 1])
    return rows.filter(pk__gt=older[0]) if older else rows


class BoundedPaginator(Paginator):  # type: ignore[type-arg]
    """Counts no further than MOST: whoever looks for an older row filters, or searches."""

    MOST = 10_000

    @cached_property
    def count(self) -> int:
        # In the list's order, so that the same index serves: any other way to the first rows may be long.
        rows: Any = self.object_list
        return min(int(rows[: self.MOST + 1].count()), self.MOST)

    @property
    def has_more(self) -> bool:
        return self.count == self.MOST


class LargeList(ReadOnlyAdmin):
    """Rows that the program writes for ever."""

    paginator = BoundedPaginator
    list_per_page = 30
    list_before_template = "admin/large_list.html"
    # No index would serve any other order.
    sortable_by = ()


class FewChoices(RelatedFieldListFilter):
    """The choices of a filter, as long as they are few; with more, the one that a link has chosen."""

    MOST = 50

    def field_choices(self, field: Any, request: HttpRequest, model_admin: Any) -> Any:
        rows = field.remote_field.model._default_manager
        found: list[Model] = list(rows.order_by("pk")[: self.MOST + 1])
        if len(found) > self.MOST:
            chosen = request.GET.get(self.lookup_kwarg, "")
            found = list(rows.filter(pk=chosen)) if chosen.isdecimal() else []
        return [(row.pk, str(row)) for row in found]

    def has_output(self) -> bool:
        return bool(self.lookup_choices or self.lookup_val)
