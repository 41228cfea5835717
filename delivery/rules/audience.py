"""Audience of a letter, as stored with it and its issue.

Stores keys, so that renaming changes nothing, and names, which remain after deletion.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from common.refused import Refused

SERIES = "series"
AUDIENCE_PARTS = ("any_of", "none_of", "others", "got", SERIES)
NARROWING = ("any_of", "none_of", "got", SERIES)


def is_for_some(stored: Mapping[str, Any]) -> bool:
    return any(part in stored for part in NARROWING)


class UnknownAudience(Refused):
    """A newer release stored an audience unknown here, so nobody gets the letter."""


@dataclass(frozen=True, slots=True)
class Audience:
    """Tags required (any of), tags excluded, other newsletters included, and issues that a reader got.

    `got`: with the text before a correction, if there was one. `series`: only who is at that email in the
    newsletter's series, one by one. An empty audience means every reader of the letter's newsletter.
    """

    any_of: Mapping[int, str] = field(default_factory=dict)
    none_of: Mapping[int, str] = field(default_factory=dict)
    others: Mapping[int, str] = field(default_factory=dict)
    got: Mapping[int, str] = field(default_factory=dict)
    series: Mapping[int, str] = field(default_factory=dict)

    @property
    def tags(self) -> dict[int, str]:
        return {**self.any_of, **self.none_of}

    def to_json(self) -> dict[str, dict[str, str]]:
        parts = {
            name: {str(key): said for key, said in getattr(self, name).items()} for name in AUDIENCE_PARTS
        }
        return {name: part for name, part in parts.items() if part}

    @classmethod
    def from_json(cls, stored: Any) -> "Audience":
        """Raise UnknownAudience for anything that this release would not have stored."""
        try:
            parts = {
                name: {int(key): str(said) for key, said in part.items()} for name, part in stored.items()
            }
            known = cls(**parts)
        except (AttributeError, TypeError, ValueError) as error:
            raise UnknownAudience(
                "It is for some readers, chosen in a way that this release does not know. "
                "Run the release that it was made with."
            ) from error
        if known.to_json() != stored:
            raise UnknownAudience("It is for readers of whom not all is stored. Choose them anew.")
        return known


EVERY_READER = Audience()


def listed_names(names: list[str], last: str) -> str:
    """Return "“a”, “b” or “c”", where `last` is "or"."""
    quoted = [f"“{name}”" for name in names]
    head = ", ".join(quoted[:-1])
    return f"{head} {last} {quoted[-1]}" if head else quoted[-1]


def audience_sentence(audience: Audience) -> str:
    """Return words that follow “to”."""
    if audience.series:
        return "new subscribers, in the series"
    any_of, none_of = list(audience.any_of.values()), list(audience.none_of.values())
    having = f"the tag {listed_names(any_of, 'or')}" if any_of else ""
    lacking = f"the tag {listed_names(none_of, 'or')}" if none_of else ""
    if having:
        words = f"those with {having}" + (f" and without {lacking}" if lacking else "")
    else:
        words = f"everybody without {lacking}" if lacking else "everybody who is confirmed"
    if audience.got:
        words += f", who got {listed_names(list(audience.got.values()), 'or')}"
    if audience.others:
        words += f", also of {listed_names(list(audience.others.values()), 'and')}; each person once"
    return words
