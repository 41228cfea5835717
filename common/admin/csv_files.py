"""CSV files, which are made while they are downloaded."""

import csv
from collections.abc import Callable, Iterator
from typing import Any

from django.http import StreamingHttpResponse

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
