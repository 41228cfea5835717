"""A letter, which all its readers share, and a recipient of it."""

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
    """What is sent to everybody alike: the form letter of an issue, or one other mail.

    `placeholders` maps a field's name (lower case) to the token that stands for it in subject, html and text.
    `newsletter` is its name, as in addresses; `newsletter_title` is what readers see. `web_url` is the
    issue's own page, where the newsletter has pages.
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
    # When it was published; None where it has no such time.
    at: datetime | None = None
    # The newsletter's own code may have another value of any field for each recipient.
    has_own_code: bool = False
    # Those that sign it, where it is mail; the first is the one that everybody can read.
    signing_keys: tuple[SigningKey, ...] = field(default=(), repr=False)


class Recipient(NamedTuple):
    """One delivery's own part: whom it goes to, and their links."""

    delivery_id: int
    core: str
    label: str
    name: str = ""
    config: Mapping[str, str] = NO_VALUES
    secrets: Mapping[str, str] = NO_VALUES
    unsubscribe_url: str = ""
    manage_url: str = ""
    # Values of fields that the newsletter's own code has for this recipient.
    params: Mapping[str, str] = NO_VALUES

    def __repr__(self) -> str:
        """Names the delivery only: secrets belong in no log."""
        return f"Recipient({self.delivery_id})"


class LetterError(Refused):
    """A letter cannot be rendered. The message is one sentence that names the template and its fault."""
