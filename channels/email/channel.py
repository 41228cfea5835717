from collections.abc import Callable, Mapping
from functools import partial

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from channels.base import Channel, CrashPolicy, LaneDefaults, LaneFacts, Session
from channels.email.account_url import Mailbox, transport_of
from channels.email.esp.session import EspSession
from channels.email.esp.settings import EspSettings
from channels.email.headers import return_path
from channels.email.letter_form import WireLetter
from channels.email.mail_message import MailMessage
from channels.email.session import BlockingSmtpSession, MailboxSession, UnusableSession
from channels.email.smtp_connection import helo_name
from channels.email.smtp_login import SmtpSettings
from channels.email.smtp_session import SmtpSession
from channels.letter import Letter, Recipient
from channels.rules.accounts import DEFAULT_ACCOUNT


class EmailChannel(Channel):
    """One account sends all letters, over several connections. Lanes are accounts themselves."""

    key = "email"
    # With the same Message-ID, most mailboxes show only one.
    crash_policy = CrashPolicy.RESEND
    lane = LaneDefaults(serial=False, concurrency=50, grown=10)

    def lane_account(self, core: str, options: Mapping[str, str]) -> str:
        return options.get("account") or DEFAULT_ACCOUNT

    def domain(self, core: str) -> str:
        return core.rpartition("@")[2]

    def form(self, letter: Letter) -> WireLetter:
        return WireLetter(
            letter,
            site_host=settings.SITE_HOST,
            bounce_domain=settings.BOUNCE_DOMAIN,
            return_path=return_path,
        )

    def composer(self, letter: Letter) -> Callable[[Recipient], MailMessage]:
        return self.form(letter).message

    def sessions(self, lane: LaneFacts) -> Callable[[], SmtpSession] | None:
        try:
            target = transport_of(lane.account, lane.credentials.get("url", ""))
        except ImproperlyConfigured:
            return None
        if not isinstance(target, SmtpSettings):
            return None
        helo, most = helo_name(), lane.messages_per_connection
        # No lambda: it is pickled for another process.
        return partial(SmtpSession, target, helo=helo, messages_per_connection=most)

    def connect(self, lane: LaneFacts) -> Session:
        try:
            target = transport_of(lane.account, lane.credentials.get("url", ""))
        except ImproperlyConfigured as error:
            return UnusableSession(str(error))
        if isinstance(target, EspSettings):
            return EspSession(target, form=self.form)
        return (
            MailboxSession() if isinstance(target, Mailbox) else BlockingSmtpSession(target, helo=helo_name())
        )
