"""Many values as one parameter for PostgreSQL: a tenth of what the driver takes for a list of times."""

from collections.abc import Iterable
from typing import Any


def array_literal(values: Iterable[Any]) -> str:
    """Texts, numbers, times and None as PostgreSQL writes an array; the statement casts it."""
    return "{" + ",".join(["NULL" if value is None else _quoted(str(value)) for value in values]) + "}"


def _quoted(text: str) -> str:
    if "\\" in text or '"' in text:
        text = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"'
