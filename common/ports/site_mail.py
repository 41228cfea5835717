"""The port for the site's own mails to one person: earlier apps ask, the one that knows of letters sends."""

from collections.abc import Mapping
from datetime import datetime
from typing import Protocol

MailFacts = Mapping[str, str | int]


class SiteMail(Protocol):
    """How such mails are sent."""

    def is_sent(self) -> bool:
        """Whether mail goes out here. Links that are keys must not wait in the mailbox page, where every
        admin reads them."""

    def send(
        self,
        *,
        address: str,
        template: str,
        context: MailFacts,
        now: datetime,
        language: str = "",
    ) -> None:
        """Queues a mail by one of the templates, in the caller's transaction. Raises Refused for an address
        that cannot be written to.

        What stands in `context` under a name that ends in `_url` is kept encrypted, for it may be a key.
        """

    def forget(self, address: str) -> None:
        """Deletes the address, with the mails that `send` made; unless anything else was mailed there."""


_mail: list[SiteMail] = []


def install_site_mail(mail: SiteMail) -> None:
    """Called in AppConfig.ready() of the app that sends."""
    _mail[:] = [mail]


def site_mail() -> SiteMail:
    """The one that was installed."""
    return _mail[0]
