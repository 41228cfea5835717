"""Mails to one person, requested by earlier apps and sent by a later one."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Protocol

MailFacts = Mapping[str, str | int]


class SiteMail(Protocol):
    def is_sent(self) -> bool:
        """Return whether mail leaves here: admins read the mailbox page, and links can be keys."""

    def send(
        self, *, address: str, template: str, context: MailFacts, now: datetime, language: str = ""
    ) -> None:
        """Queue in the caller's transaction. Raises Refused for a wrong address.

        Values of `context` whose names end in `_url` are encrypted, because they may contain keys.
        """

    def forget(self, address: str) -> None:
        """Delete the address and its mails, unless it got other mail."""


# One, from AppConfig.ready().
site_mails: list[Callable[[], SiteMail]] = []


def site_mail() -> SiteMail:
    return site_mails[0]()
