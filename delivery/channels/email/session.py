"""Sessions: an SMTP server for one thread at a time, and what stands for a server."""

from datetime import datetime
from typing import Any

import uvloop

from delivery.channels.base import Outcome, Sent, Temporary
from delivery.channels.email.mail_message import MailMessage
from delivery.channels.email.pipeline import Pipeline
from delivery.channels.email.servers import SmtpSettings


class SmtpSession:
    """A pipeline for callers that wait: its loop runs while a message is sent. Used by one thread."""

    def __init__(self, target: SmtpSettings, **options: Any) -> None:
        self._loop = uvloop.new_event_loop()
        self.pipeline = Pipeline(target, **options)

    def send(self, message: MailMessage, *, key: str, begun_at: datetime | None, now: datetime) -> Outcome:
        """The server's answer as an Outcome. `key` and `begun_at` are of no use to SMTP: the Message-ID
        is the key, and nobody can be asked what became of an earlier attempt."""
        return self._loop.run_until_complete(self.pipeline.send(message, now=now))

    def close(self) -> None:
        if not self._loop.is_closed():
            self._loop.run_until_complete(self.pipeline.close())
            self._loop.close()


class MailboxSession:
    """Keeps every message, for the mailbox page."""

    def send(self, message: MailMessage, *, key: str, begun_at: datetime | None, now: datetime) -> Outcome:
        return Sent(stored=message.dated(now))

    def close(self) -> None:
        """Nothing is open."""


class UnusableSession:
    """Stands for a server that the settings do not name rightly: everything waits, and says why."""

    def __init__(self, reason: str) -> None:
        self.reason = reason

    def send(self, message: MailMessage, *, key: str, begun_at: datetime | None, now: datetime) -> Outcome:
        return Temporary(self.reason, stops_lane=True)

    def close(self) -> None:
        """Nothing is open."""
