"""What a send pass brought about."""

from dataclasses import dataclass

from delivery.channels.base import Ambiguous, Outcome, Permanent, Sent, Temporary


@dataclass
class SendReport:
    """How many of each a pass brought about."""

    sent: int = 0
    stored: int = 0
    failed: int = 0
    deferred: int = 0

    def count(self, outcome: Outcome) -> None:
        if isinstance(outcome, Sent):
            self.stored += outcome.stored is not None
            self.sent += outcome.stored is None
        elif isinstance(outcome, Permanent):
            self.failed += 1
        elif isinstance(outcome, Temporary | Ambiguous):
            self.deferred += 1
