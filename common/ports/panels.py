"""Panels and actions of an object's admin page: an app has its own, and later apps add to it."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from django.utils.safestring import SafeString

from common.refused import Refused

FORM_ORDER = 50


class CannotAct(Refused):
    """An action that cannot be done as things are. The message says why, and what to do."""


@dataclass(frozen=True, slots=True)
class Tab:
    """A part of an object's page with an address of its own: `?tab=` its name."""

    name: str
    title: str


@dataclass(frozen=True, slots=True)
class Panel:
    """A titled part of an object's page. `render` returns safe html, or nothing to leave it out.

    Panels stand in their `order`; those under FORM stand above the object's form. On a page with tabs a
    panel stands in the one it names; without a name, in the first. One with forms of its own `asks`: its
    `render` is given the request, too.
    """

    title: str
    render: Callable[..., SafeString | str]
    order: int = FORM_ORDER + 10
    # On a wide screen it stands beside all others.
    is_beside: bool = False
    tab: str = ""
    asks: bool = False


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a list. `of_rows` gives, by their keys, what it shows for all rows of a page at once."""

    name: str
    title: str
    of_rows: Callable[[Sequence[Any]], Mapping[int, SafeString | str]]


@dataclass(frozen=True, slots=True)
class TabForm:
    """The form of a tab, where a later app has it.

    `form` is a ModelForm of the page's object, `fieldsets` are Django's, of that object. `save` gets the
    object and what the form found. One with `tries` has a button to look at what is typed before it is saved.
    """

    tab: str
    form: type[Any]
    fieldsets: Callable[[Any], Sequence[tuple[str, dict[str, Any]]]]
    save: Callable[[Any, dict[str, Any]], None]
    tries: Callable[[Any], bool]


@dataclass(frozen=True, slots=True)
class Action:
    """An action on chosen rows. `run` gets their keys and returns a sentence of what happened.

    A dangerous one has `confirm`: sentences that say, before it is done, what it will do to how many rows.
    `permission` is "act" (for people who may change such rows) or "drop" (who may delete them). `fits` says
    whether an object's page offers the action: a paused feed cannot be paused again.

    `form`, called with the keys (and Django's `data` and `prefix`), asks for what the action needs; `run`
    then gets its cleaned data by name, too.
    """

    name: str
    title: str
    run: Callable[..., str]
    confirm: Callable[[list[int]], Sequence[str]] | None = None
    permission: str = "act"
    fits: Callable[[Any], bool] | None = None
    form: Callable[..., Any] | None = None

    @property
    def is_dangerous(self) -> bool:
        return self.confirm is not None


_installers: list[Callable[[], None]] = []
_panels: dict[str, list[Panel]] = defaultdict(list)
_actions: dict[str, list[Action]] = defaultdict(list)
_columns: dict[str, list[Column]] = defaultdict(list)
_tab_forms: dict[str, list[TabForm]] = defaultdict(list)


def install_later(path: str) -> None:
    """Has `install` of that module called as soon as a panel or an action is asked for.

    A process without admin pages, such as a worker, never loads the modules that draw them.
    """
    _installers.append(lambda: import_module(path).install())


def add_panel(model: str, panel: Panel) -> None:
    """`model` is a label such as "feeds.Item"."""
    _panels[model].append(panel)


def add_action(model: str, action: Action) -> None:
    _actions[model].append(action)


def add_column(model: str, column: Column) -> None:
    _columns[model].append(column)


def add_tab_form(model: str, form: TabForm) -> None:
    _tab_forms[model].append(form)


def panels(model: str) -> list[Panel]:
    install()
    return list(_panels[model])


def actions(model: str) -> list[Action]:
    install()
    return list(_actions[model])


def columns_of(model: str) -> list[Column]:
    install()
    return list(_columns[model])


def tab_forms(model: str) -> list[TabForm]:
    install()
    return list(_tab_forms[model])


def install() -> None:
    """Installs what waits for it. Web processes call this when they load their URLs."""
    while _installers:
        _installers.pop(0)()
