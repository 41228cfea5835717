"""Apps that a setting switches off: their AppConfig has `is_on`.

They stay in INSTALLED_APPS, so that their tables stay.
"""

from collections.abc import Mapping
from typing import TypeVar

from django.apps import apps

T = TypeVar("T")


def is_on(name: str) -> bool:
    """`name` is an app's label, or begins with one: "reader.place"."""
    label = name.partition(".")[0]
    return all(getattr(app, "is_on", True) for app in apps.get_app_configs() if app.label == label)


def switched_on(by_name: Mapping[str, T]) -> dict[str, T]:
    return {name: value for name, value in by_name.items() if is_on(name)}
