from dataclasses import dataclass
from datetime import datetime, tzinfo

from subscriptions.rules.words import MONTHS, clock_words

SHORT_MONTH = 3


@dataclass(frozen=True, slots=True)
class PersonFacts:
    is_email: bool = True
    erased_at: datetime | None = None
    suppressed_at: datetime | None = None
    suppressed_why: str = ""
    disabled_at: datetime | None = None
    disabled_why: str = ""


@dataclass(frozen=True, slots=True)
class SubscriptionFacts:
    """`left_by` is "reader", "import" or ""; `left_why` is the reader's reason.

    `confirmation`: state of the latest confirmation mail, "wanted" before it is queued, or "";
    `confirm_until`: when its link expires. `switched_to` and `changes_to`: newsletters of a frequency change.
    """

    status: str = "confirmed"
    left_at: datetime | None = None
    left_by: str = ""
    left_why: str = ""
    switched_to: str = ""
    switched_at: datetime | None = None
    confirmation: str = ""
    confirmation_error: str = ""
    confirm_until: datetime | None = None
    confirmed_at: datetime | None = None
    paused_until: datetime | None = None
    takes_over_from: str = ""
    takes_over_at: datetime | None = None
    changes_to: str = ""
    changes_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class NewsletterFacts:
    """`draft`: "approval", "reader" or "release" (at `release_at`) for an issue that waits.

    `collected`: posts in the next issue, which is sent at `closes_at`.
    """

    paused_at: datetime | None = None
    paused_why: str = ""
    stopped: bool = False
    feeds: int = 1
    feeds_read: int = 1
    draft: str = ""
    release_at: datetime | None = None
    collected: int = 0
    collect_error: str = ""
    closes_at: datetime | None = None
    has_posts: bool = True


@dataclass(frozen=True, slots=True)
class LastIssueFacts:
    """The newest published issue and its delivery. `state` is "" without one.

    `lane` and `domain`: why nothing is sent now.
    """

    title: str
    published_at: datetime
    is_cancelled: bool = False
    is_paused: bool = False
    paused_why: str = ""
    state: str = ""
    held_for: str = ""
    error: str = ""
    sent_at: datetime | None = None
    due_at: datetime | None = None
    lane: str = ""
    domain: str = ""
    is_restoring: bool = False


@dataclass(frozen=True, slots=True)
class ReachFacts:
    now: datetime
    zone: tzinfo
    person: PersonFacts = PersonFacts()
    subscription: SubscriptionFacts = SubscriptionFacts()
    newsletter: NewsletterFacts = NewsletterFacts()
    last: LastIssueFacts | None = None

    def day(self, moment: datetime) -> str:
        """Return "25 Nov", with another year."""
        local, today = moment.astimezone(self.zone), self.now.astimezone(self.zone)
        year = f" {local.year}" if local.year != today.year else ""
        return f"{local.day} {MONTHS[local.month - 1][:SHORT_MONTH]}{year}"

    def moment(self, moment: datetime) -> str:
        """Return "25 Nov at 7:00"."""
        return f"{self.day(moment)} at {clock_words(moment.astimezone(self.zone).time())}"
