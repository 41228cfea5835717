"""SMTP sessions for single threads, and a login check."""

import asyncio
import ssl
from abc import ABC, abstractmethod
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import uvloop

from channels.base import NOTHING, Outcome, Sent, Temporary
from channels.email.mail_message import MailMessage
from channels.email.smtp_connection import Timeouts, helo_name
from channels.email.smtp_login import SmtpSettings
from channels.email.smtp_replies import CannotConnect, Reply, reply_words
from channels.email.smtp_session import SmtpSession
from common.refused import Refused

# Somebody waits for a page.
IMPATIENT = Timeouts(connect=10, reply=10, message=120)


class MailSession(ABC):
    """Sends single emails. `key` is their Message-ID, and nothing can be looked up."""

    def send(
        self,
        message: MailMessage,
        *,
        key: str,
        begun_at: datetime | None,
        now: datetime,
        progress: Mapping[str, Any] = NOTHING,
    ) -> Outcome:
        return self.outcome(message, now)

    @abstractmethod
    def outcome(self, message: MailMessage, now: datetime) -> Outcome: ...

    def close(self) -> None:  # noqa: B027 - most have nothing to close
        """Close the connection, if any."""


class BlockingSmtpSession(MailSession):
    """Has its own event loop."""

    def __init__(self, target: SmtpSettings, **options: Any) -> None:
        self._loop = uvloop.new_event_loop()
        self.pipeline = SmtpSession(target, **options)

    def outcome(self, message: MailMessage, now: datetime) -> Outcome:
        return self._loop.run_until_complete(self.pipeline.send(message, now=now))

    def close(self) -> None:
        if not self._loop.is_closed():
            self._loop.run_until_complete(self.pipeline.close())
            self._loop.close()


class MailboxSession(MailSession):
    """Keeps messages for the mailbox page."""

    def outcome(self, message: MailMessage, now: datetime) -> Outcome:
        return Sent(stored=message.dated(now))


class UnusableSession(MailSession):
    """All messages wait, with the reason."""

    def __init__(self, reason: str) -> None:
        self.reason = reason

    def outcome(self, message: MailMessage, now: datetime) -> Outcome:
        return Temporary(self.reason, stops_lane=True)


class CannotLogIn(Refused):
    """The login failed. The message quotes the server, never the password."""


def probe_login(target: object, *, context: ssl.SSLContext | None = None) -> str:
    """Return the server's answer (network). Raises CannotLogIn."""
    if not isinstance(target, SmtpSettings):
        raise CannotLogIn("Only SMTP servers can be tested this way. Send a test email instead.")
    try:
        reply = asyncio.run(_reply_to_login(target, context))
    except CannotConnect as error:
        raise CannotLogIn(str(error)) from None
    if reply is None:
        return f"{target.name} answers. No sign-in was tried because the URL has no user."
    return f"{target.name} accepted the sign-in: {reply_words(reply.code, reply.text)}"


async def _reply_to_login(target: SmtpSettings, context: ssl.SSLContext | None) -> Reply | None:
    pipeline = SmtpSession(target, helo=helo_name(), context=context, timeouts=IMPATIENT)
    try:
        return (await pipeline.ready()).login
    finally:
        await pipeline.close()
