"""Ways to get a newsletter other than by its sign-up form. Apps add theirs in AppConfig.ready()."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedFirst:
    """A small GET form, folded under its `title`: `name` is the field's, `label` and `button` for people.

    The answer must be a page: browsers refuse redirects to other sites (form-action in `POLICY`).
    """

    title: str
    action: str
    name: str
    label: str
    button: str
    placeholder: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """A row of a newsletter's page.

    `icon` is the id of a drawing (`delivery/views/ways.py`). `title` leads to `url`. `copied` is a handle or
    an address that people copy. `account` is the newsletter's public page at another service, which is also
    told to search engines (sameAs). Rows are in the order of `rank`.
    """

    icon: str
    title: str
    sentence: str
    url: str = ""
    copied: str = ""
    form: AskedFirst | None = None
    account: str = ""
    rank: int = 50


# Each gets a newsletter that has pages, and returns what it has for it in the language of the page.
sources: list[Callable[[Any], Iterable[Way]]] = []


def ways_of(newsletter: Any) -> list[Way]:
    every = (way for source in sources for way in source(newsletter))
    return sorted(every, key=lambda way: way.rank)


def accounts_among(ways: Iterable[Way]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(way.account for way in ways if way.account))
