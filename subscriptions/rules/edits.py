from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, TypedDict

from common.refused import Refused

LONGEST_SUBJECT = 200
LONGEST_NOTE = 10_000
MOST_STEPS = 10
MOST_STEP_TITLE = 80
OUT, BACK, ORDER, WORDS, WAITS = "out", "back", "order", "words", "waits"
UP, DOWN, FIRST, LAST = "up", "down", "first", "last"
WAYS = (UP, DOWN, FIRST, LAST)
FIELD_NAMES = {"subject": "subject", "note_top": "note above the posts", "note_foot": "note below the posts"}


class CannotEdit(Refused):
    """The message gives the reason and what to do."""


class Step(TypedDict):
    sort: str
    said: str
    was: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Wording:
    """Notes are Markdown."""

    subject: str = ""
    note_top: str = ""
    note_foot: str = ""


NO_WORDS = Wording()


def fingerprint(wording: Wording) -> str:
    """Hash each field. Forms post it back, to notice concurrent edits."""
    return "-".join(_mark(getattr(wording, name)) for name in FIELD_NAMES)


def _mark(text: str) -> str:
    # Browsers post CRLF line ends.
    return sha256("\n".join(text.splitlines()).encode()).hexdigest()[:16]


def _marks(shown: str, current: Wording) -> list[str]:
    marks = shown.split("-")
    return marks if len(marks) == len(FIELD_NAMES) else fingerprint(current).split("-")


def shown_before_undo(typed: Wording, current: Wording, shown: str) -> str:
    """Return a fingerprint with which fields typed before an undo override restored ones."""
    ours, restored = fingerprint(typed).split("-"), fingerprint(current).split("-")
    marks = zip(ours, _marks(shown, current), restored, strict=True)
    return "-".join(mark if mine == mark else now for mine, mark, now in marks)


def merge_wording(typed: Wording, current: Wording, shown: str) -> Wording:
    """Return the current wording with the fields changed in the form.

    `shown`: fingerprint of the form's initial values; if empty, all fields count. Raises CannotEdit if
    somebody else has changed a field too.
    """
    merged: dict[str, str] = {}
    for name, mark in zip(FIELD_NAMES, _marks(shown, current), strict=True):
        mine, saved = getattr(typed, name), getattr(current, name)
        if _mark(mine) in (mark, _mark(saved)):
            merged[name] = saved
        elif _mark(saved) == mark:
            merged[name] = mine
        else:
            now = f"It is now: “{saved}”." if saved else "It is now empty."
            raise CannotEdit(
                f"Somebody else has changed the {FIELD_NAMES[name]}, too. {now} Save again to replace it.",
                name,
            )
    return Wording(**merged)


def in_places(keys: Sequence[int], places: Mapping[int, int | None]) -> list[int]:
    placed = [key for key in keys if places.get(key) is not None]
    rest = [key for key in keys if places.get(key) is None]
    return [*sorted(placed, key=lambda key: places[key] or 0), *rest]


def moved(order: Sequence[int], key: int, way: str | int) -> list[int]:
    """Return the new order. `way`: one of WAYS, or the post that this one is to follow (0: none)."""
    if key not in order:
        raise CannotEdit("That post is not in this issue any more. Look at it again.")
    rest, at = [each for each in order if each != key], order.index(key)
    if isinstance(way, int):
        place = rest.index(way) + 1 if way in rest else at if way else 0
    elif way in WAYS:
        place = {UP: max(at - 1, 0), DOWN: min(at + 1, len(rest)), FIRST: 0, LAST: len(rest)}[way]
    else:
        raise CannotEdit(f"A post goes {', '.join(WAYS)}.")
    return [*rest[:place], key, *rest[place:]]


def check_wording(wording: Wording) -> None:
    if len(wording.subject) > LONGEST_SUBJECT:
        raise CannotEdit(f"A subject may have {LONGEST_SUBJECT} characters.", field="subject")
    for field in ("note_top", "note_foot"):
        if len(getattr(wording, field)) > LONGEST_NOTE:
            raise CannotEdit(f"A note may have {LONGEST_NOTE:,} characters.", field=field)


def with_step(steps: Sequence[Step] | None, sort: str, said: str, was: Mapping[str, Any]) -> list[Step]:
    if sort == WORDS and steps and (steps[-1]["sort"], steps[-1]["said"]) == (WORDS, said):
        # Pages save words while somebody types: one undo takes back all of them.
        return list(steps)
    step = Step(sort=sort, said=said, was=dict(was))
    return [*(steps or ()), step][-MOST_STEPS:]


def check_latest(steps: Sequence[Step], latest: str | None) -> None:
    if not steps:
        raise CannotEdit("There is nothing to undo.")
    if latest is not None and steps[-1]["said"] != latest:
        raise CannotEdit(f"Somebody else has changed it since. The latest change is {steps[-1]['said']}.")
