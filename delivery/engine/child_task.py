"""A message on its way through the child process."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from delivery.channels.base import Outcome
from delivery.channels.email.mail_message import MailMessage

NOT_YET = datetime.max.replace(tzinfo=UTC)


@dataclass(eq=False, slots=True)
class ChildTask:
    """`number` is the task's in its lane, by which both sides know it.

    `token` is its lease's in hexadecimal; empty where an acceptance must not be recorded here.
    """

    lane: int
    number: int
    pk: int
    priority: int
    token: str
    mail: MailMessage
    outcome: Outcome | None = None
    at: datetime = NOT_YET
    begun: bool = False
    issue: int | None = None
    recalled: bool = False
    released: Any = None

    def message(self) -> MailMessage:
        return self.mail
