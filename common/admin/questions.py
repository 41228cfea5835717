"""Filters whose headings are questions a person has, and whose choices are the answers."""

from collections.abc import Iterator, Mapping
from typing import Any

from django.contrib.admin import FieldListFilter


def asks(
    question: str, usual: type[FieldListFilter], answers: Mapping[str, str] | None = None
) -> type[FieldListFilter]:
    """The usual filter of a field under a question; `answers`: other words for some of its choices."""

    class Question(usual):  # type: ignore[misc, valid-type]
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            self.title = question

        def choices(self, changelist: Any) -> Iterator[dict[str, Any]]:
            for choice in super().choices(changelist):
                words = str(choice["display"])
                yield choice | {"display": (answers or {}).get(words, words)}

    # Templates go by the name of the class.
    Question.__name__ = usual.__name__
    return Question
