"""Panels and actions that a later app adds to an earlier app's admin pages, without being imported by it."""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.utils.safestring import SafeString


@dataclass(frozen=True, slots=True)
class Panel:
    """A titled part of an object's page. `render` returns safe html, or nothing to leave it out."""

    title: str
    render: Callable[[Any], SafeString | str]


@dataclass(frozen=True, slots=True)
class Action:
    """A bulk action. `run` gets the chosen keys and returns a sentence of what happened."""

    name: str
    title: str
    run: Callable[[HttpRequest, list[int]], str]


_panels: dict[str, list[Panel]] = defaultdict(list)
_actions: dict[str, list[Action]] = defaultdict(list)


def add_panel(model: str, panel: Panel) -> None:
    """`model` is a label such as "feeds.Item"."""
    _panels[model].append(panel)


def add_action(model: str, action: Action) -> None:
    _actions[model].append(action)


def panels(model: str) -> list[Panel]:
    return list(_panels[model])


def actions(model: str) -> list[Action]:
    return list(_actions[model])
