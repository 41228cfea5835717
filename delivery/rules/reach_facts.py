from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import Any, Protocol

from subscriptions.rules.completion import MONTHS, clock_words

SHORT_MONTH = 3


class PersonRow(Protocol):
    kind: str
    erased_at: datetime | None
    disabled_at: datetime | None
    disabled_reason: str


class SuppressionRow(Protocol):
    created_at: datetime
    reason: str


class SubscriptionRow(Protocol):
    status: str
    left_at: datetime | None
    left_why: str
    undo_until: datetime | None
    ended_at: datetime | None
    confirmed_at: datetime | None
    paused_until: datetime | None

    def get_left_why_display(self) -> str: ...


class NewsletterRow(Protocol):
    """Annotated with the numbers of its feeds and of the read ones, and whether they bring posts."""

    sending_paused_at: datetime | None
    sending_paused_reason: str
    stopped: bool
    all_feeds: int
    read_feeds: int
    brings_posts: bool


class ChangeRow(Protocol):
    """A frequency change from the subscription `old` to `new`."""

    at: datetime | None
    settled_at: datetime | None
    was_there: bool
    old: Any
    new: Any


class IssueRow(Protocol):
    title: str
    created_at: datetime
    published_at: datetime | None
    cancelled_at: datetime | None
    paused_at: datetime | None
    paused_reason: str
    awaits_reader: bool
    release_at: datetime | None


class DeliveryRow(Protocol):
    state: str
    held_for: str
    last_error: str
    sent_at: datetime | None
    due_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonFacts:
    now: datetime
    zone: tzinfo
    person: PersonRow
    suppression: SuppressionRow | None = None

    def day(self, moment: datetime) -> str:
        """Return "25 Nov", with another year."""
        local, today = moment.astimezone(self.zone), self.now.astimezone(self.zone)
        year = f" {local.year}" if local.year != today.year else ""
        return f"{local.day} {MONTHS[local.month - 1][:SHORT_MONTH]}{year}"

    def moment(self, moment: datetime) -> str:
        """Return "25 Nov at 7:00"."""
        return f"{self.day(moment)} at {clock_words(moment.astimezone(self.zone).time())}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReachFacts(PersonFacts):
    """`away`, `here`: frequency changes from and to the subscription; `asked_at`: when it was asked for.

    `confirmation`: state of the latest confirmation mail, "wanted" before it is queued, or "";
    `confirm_until`: when its link expires. `draft`: an issue that waits. `collected`: posts in the next
    issue, which is sent at `closes_at`. `issue` is the newest published one, with its `delivery`; `lane` and
    `domain`: why nothing is sent now. `series_first`: they get the newsletter's series before it.
    """

    subscription: SubscriptionRow
    newsletter: NewsletterRow
    away: ChangeRow | None = None
    here: ChangeRow | None = None
    asked_at: datetime | None = None
    confirmation: str = ""
    confirmation_error: str = ""
    confirm_until: datetime | None = None
    draft: IssueRow | None = None
    collected: int = 0
    collect_error: str = ""
    closes_at: datetime | None = None
    issue: IssueRow | None = None
    delivery: DeliveryRow | None = None
    lane: str = ""
    domain: str = ""
    is_restoring: bool = False
    series_first: bool = False

    @property
    def state(self) -> str:
        """Return the delivery's."""
        return self.delivery.state if self.delivery else ""

    @property
    def error(self) -> str:
        return self.delivery.last_error if self.delivery else ""

    @property
    def title(self) -> str:
        return f"“{self.issue.title}”" if self.issue else ""

    @property
    def issue_day(self) -> str:
        return self.day(self.issue.published_at or self.issue.created_at) if self.issue else ""
