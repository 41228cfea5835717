"""What an editor does to an issue before it goes: places of posts, words of its own, and steps to undo."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

from common.refused import Refused

LONGEST_SUBJECT = 200
LONGEST_NOTE = 10_000
MOST_STEPS = 10
MOST_STEP_TITLE = 80
OUT, BACK, ORDER, WORDS, WAITS = "out", "back", "order", "words", "waits"
UP, DOWN, FIRST, LAST = "up", "down", "first", "last"
WAYS = (UP, DOWN, FIRST, LAST)


class CannotEdit(Refused):
    """An edit that cannot be made as things are. The message says why, and what to do."""


class Step(TypedDict):
    """One edit, as JSON: what it was, in words and for programs, and how things stood before it."""

    sort: str
    said: str
    was: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Wording:
    """The editor's own subject, and notes in Markdown above the posts and below them. Empty: none."""

    subject: str = ""
    note_top: str = ""
    note_foot: str = ""


NO_WORDS = Wording()


def in_places(keys: Sequence[int], places: Mapping[int, int | None]) -> list[int]:
    """The keys in the places that an editor gave them; those without one come after, as they were."""
    placed = [key for key in keys if places.get(key) is not None]
    rest = [key for key in keys if places.get(key) is None]
    return [*sorted(placed, key=lambda key: places[key] or 0), *rest]


def moved(order: Sequence[int], key: int, way: str) -> list[int]:
    """The order with one key a place up or down, or at an end. Raises CannotEdit where it is not in it."""
    if key not in order:
        raise CannotEdit("That post is not in this issue any more. Look at it again.")
    if way not in WAYS:
        raise CannotEdit(f"A post goes {', '.join(WAYS)}.")
    rest = [each for each in order if each != key]
    at = order.index(key)
    place = {UP: max(at - 1, 0), DOWN: min(at + 1, len(rest)), FIRST: 0, LAST: len(rest)}[way]
    return [*rest[:place], key, *rest[place:]]


def check_wording(wording: Wording) -> None:
    """Raises CannotEdit, naming the field, for words that are too long."""
    if len(wording.subject) > LONGEST_SUBJECT:
        raise CannotEdit(f"A subject may have {LONGEST_SUBJECT} characters.", field="subject")
    for field in ("note_top", "note_foot"):
        if len(getattr(wording, field)) > LONGEST_NOTE:
            raise CannotEdit(f"A note may have {LONGEST_NOTE:,} characters.", field=field)


def with_step(steps: Sequence[Step] | None, sort: str, said: str, was: Mapping[str, Any]) -> list[Step]:
    """The steps with one more; the oldest beyond ten are forgotten."""
    step = Step(sort=sort, said=said, was=dict(was))
    return [*(steps or ()), step][-MOST_STEPS:]
