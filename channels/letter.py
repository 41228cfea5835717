from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import NamedTuple

from channels.email.dkim.keys import SigningKey
from common.refused import Refused
from feeds.parsing.entry import Entry

NO_VALUES: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Letter:
    """Shared by all recipients.

    `placeholders` maps fields (lower case) to tokens. `newsletter` is the name in addresses,
    `newsletter_title` is for readers. `web_url` is the issue's page, if any.
    """

    kind: str
    newsletter: str
    title: str
    subject: str
    html: str
    text: str
    token: str
    from_email: str
    reply_to: str = ""
    placeholders: Mapping[str, str] = field(default_factory=dict)
    params: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, str] = field(default_factory=dict)
    entries: tuple[Entry, ...] = ()
    archive_url: str = ""
    language: str = ""
    is_digest: bool = False
    newsletter_title: str = ""
    web_url: str = ""
    page_url: str = ""
    description: str = ""
    at: datetime | None = None
    # It may set any field per recipient.
    has_own_code: bool = False
    # The first is the one that everybody supports.
    signing_keys: tuple[SigningKey, ...] = field(default=(), repr=False)


class Recipient(NamedTuple):
    """One delivery's recipient and links."""

    delivery_id: int
    core: str
    label: str
    name: str = ""
    config: Mapping[str, str] = NO_VALUES
    secrets: Mapping[str, str] = NO_VALUES
    unsubscribe_url: str = ""
    manage_url: str = ""
    params: Mapping[str, str] = NO_VALUES

    def __repr__(self) -> str:
        """Logs must not contain secrets."""
        return f"Recipient({self.delivery_id})"


class LetterError(Refused):
    """The message names the template and the error."""
