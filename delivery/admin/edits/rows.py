"""What the panels of the next issue and of drafts show: their posts, as plain rows for one template."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.urls import reverse

from common.admin.html import object_url
from common.text import one_line, shortened
from feeds.models import Item

LONGEST_SHOWN_TITLE = 200
EDIT_ROWS_SHOWN = 200


@dataclass(frozen=True, slots=True)
class EditRow:
    """A post. `key` is its item's, 0 for one whose feed was deleted: that stays where it is."""

    key: int
    title: str
    url: str = ""
    about: str = ""
    can_up: bool = False
    can_down: bool = False
    # Which of its buttons was pressed last, so that a keyboard goes on from there.
    focus: str = ""


def edit_rows(posts: Sequence[tuple[int, str]], *, about: dict[int, str], asked: Any = None) -> list[EditRow]:
    """Posts by their items' keys and titles, in their order."""
    key, _, pressed = str((asked or {}).get("moved", "")).partition("-")
    last = len(posts) - 1
    found = []
    for place, (pk, title) in enumerate(posts[:EDIT_ROWS_SHOWN]):
        can = {"up": place > 0, "down": place < last}
        focus = ""
        if pk and key == str(pk):
            # At an end its button is gone: the other one takes the keyboard.
            focus = pressed if can.get(pressed) else "down" if can["down"] else "up" if can["up"] else ""
        found.append(
            EditRow(
                pk,
                shortened(one_line(title), LONGEST_SHOWN_TITLE) or "Untitled",
                object_url(Item(pk=pk)) if pk else "",
                about.get(pk, ""),
                can_up=can["up"],
                can_down=can["down"],
                focus=focus,
            )
        )
    return found


def edit_url(name: str, pk: int) -> str:
    """Where the buttons of a collection ("next_issue"), draft ("issue") or newsletter ("settling") lead."""
    return reverse(f"admin:delivery_{name}_edit", args=[pk])
