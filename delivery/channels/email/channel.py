"""The e-mail channel."""

import ipaddress

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from delivery.bounces.return_path import return_path
from delivery.channels.base import CrashPolicy, LaneFacts, Letter, Recipient, Session
from delivery.channels.email.message import MailMessage, compose
from delivery.channels.email.session import MailboxSession, SmtpSession, UnusableSession
from delivery.channels.email.transport import Mailbox, transport


class EmailChannel:
    """One SMTP account carries all letters, over several connections at once."""

    key = "email"
    # The same Message-ID again: nothing is lost, and most mailboxes show one of two.
    crash_policy = CrashPolicy.RESEND
    serial = False
    concurrency = 10
    spacing_seconds = 0.0

    def lane_account(self, core: str) -> str:
        return "default"

    def domain(self, core: str) -> str:
        return core.rpartition("@")[2]

    def compose(self, letter: Letter, recipient: Recipient) -> MailMessage:
        return compose(
            letter,
            recipient,
            site_host=settings.SITE_HOST,
            return_path=return_path(recipient.delivery_id),
        )

    def connect(self, lane: LaneFacts) -> Session:
        """Reads EMAIL_URL; connects at the first message."""
        try:
            target = transport()
        except ImproperlyConfigured as error:
            return UnusableSession(str(error))
        return MailboxSession() if isinstance(target, Mailbox) else SmtpSession(target, helo=_helo())


def _helo() -> str:
    """What we call ourselves: a name, or an address literal (RFC 5321 §4.1.3)."""
    try:
        address = ipaddress.ip_address(settings.SITE_HOST)
    except ValueError:
        return str(settings.SITE_HOST)
    return f"[{address}]" if address.version == 4 else f"[IPv6:{address}]"
