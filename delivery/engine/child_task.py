from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from channels.base import Outcome
from channels.email.mail_message import MailMessage

NOT_YET = datetime.max.replace(tzinfo=UTC)


@dataclass(eq=False, slots=True)
class ChildTask:
    """`number` identifies the task in its lane on both sides.

    `token` is the lease token in hex, empty if the acceptance must not be recorded here.
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
    released: Callable[[], object] | None = None

    def message(self) -> MailMessage:
        return self.mail
