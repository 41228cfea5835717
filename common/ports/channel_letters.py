"""Channels of the reader by email. A later app, which has newsletters, adds the only ChannelLetters."""

from collections.abc import Callable
from datetime import datetime
from typing import Any, NamedTuple, Protocol

# In AppConfig.ready().
channel_letters: "list[Callable[[], ChannelLetters]]" = []


class LettersState(NamedTuple):
    """`next_at`: None if nothing can be sent. `posts`: how many the next issue would have now."""

    address: str
    is_confirmed: bool
    next_at: datetime | None
    posts: int


class ChannelLetters(Protocol):
    def fit(self, letters: Any, *, now: datetime) -> None:
        """Make the newsletter as the row says, or end it. Raises Refused about the owner's address."""

    def drop(self, channel: Any, *, now: datetime) -> None:
        """Delete the newsletter with its issues."""

    def state(self, channel: Any, *, now: datetime) -> LettersState | None:
        """Return None without a newsletter, or once its owner has left it."""


def letter_newsletters() -> ChannelLetters:
    return channel_letters[0]()
