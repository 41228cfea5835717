from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, TypeVar

from common.parts import Part
from common.refused import Refused

FORM_ORDER = 50
_installers: list[Callable[[], None]] = []
_added: dict[str, list[Any]] = defaultdict(list)


class CannotAct(Refused):
    """The message says why, and a remedy."""


@dataclass(frozen=True, slots=True)
class Tab:
    name: str
    title: str


@dataclass(frozen=True, slots=True)
class Panel:
    """`render` returns parts, or "" to omit the panel; with `asks` it also gets the request.

    An `order` below FORM_ORDER puts it above the form. It is in the tab it names, or in the first. `is_new`:
    it belongs to the page that adds an object, and gets None and the request. `is_shared`: it names other
    newsletters, so users who work for some only don't see it.
    """

    title: str
    render: Callable[..., Part]
    order: int = FORM_ORDER + 10
    is_beside: bool = False
    tab: str = ""
    asks: bool = False
    is_new: bool = False
    is_shared: bool = False


@dataclass(frozen=True, slots=True)
class Column:
    """`of_rows` returns the values for all rows of a page, by their keys."""

    name: str
    title: str
    of_rows: Callable[[Sequence[Any]], Mapping[int, Part]]


@dataclass(frozen=True, slots=True)
class TabForm:
    """`form` is a ModelForm of the page's object; `tries` adds a button for a preview."""

    tab: str
    form: type[Any]
    fieldsets: Callable[[Any], Sequence[tuple[str, dict[str, Any]]]]
    save: Callable[[Any, dict[str, Any]], None]
    tries: Callable[[Any], bool]


@dataclass(frozen=True, slots=True)
class Action:
    """Action on chosen rows; `run` gets their keys and returns a message.

    `confirm` returns sentences on the effects of a dangerous action. `permission` is "act" (change), "drop"
    (delete) or another that the admin page knows. `fits` decides whether an object's page offers it. `form`,
    called with the keys (and Django's `data` and `prefix`), provides further arguments of `run`. Rare and
    dangerous ones are in the menu "More".
    """

    name: str
    title: str
    run: Callable[..., str]
    confirm: Callable[[list[int]], Sequence[str]] | None = None
    permission: str = "act"
    fits: Callable[[Any], bool] | None = None
    form: Callable[..., Any] | None = None
    is_rare: bool = False
    # The only tab of an object's page that offers it.
    tab: str | None = None

    @property
    def is_dangerous(self) -> bool:
        return self.confirm is not None


Addition = TypeVar("Addition", Panel, Column, TabForm, Action)


def install_later(path: str) -> None:
    """Call `install` of the module at the first use of panels, so that workers never load it."""
    _installers.append(lambda: import_module(path).install())


def add(model: str, *additions: Panel | Column | TabForm | Action) -> None:
    """`model` is a label such as "feeds.Item"."""
    _added[model].extend(additions)


def added(model: str, kind: type[Addition]) -> list[Addition]:
    install()
    return [each for each in _added[model] if isinstance(each, kind)]


def install() -> None:
    """Web processes call this when they load their URLs."""
    while _installers:
        _installers.pop(0)()
