"""Why a subscriber gets a newsletter or not: the first reason by precedence."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from common.text import shortened
from delivery.rules.reach_facts import LastIssueFacts, NewsletterFacts, ReachFacts

NOTHING, NOTHING_YET = "Gets nothing: ", "Gets nothing yet: "
LEFT = ("switched", "unsubscribed")
LONGEST_HEAD = 40
_CLAUSE = re.compile(r"[:;,.] | \(")
UNFINISHED = ("queued", "deferred", "sending", "held")
Rule = Callable[[ReachFacts], str]


@dataclass(frozen=True, slots=True)
class Reach:
    """`reason` names the rule, `then` says what happens next."""

    reason: str
    said: str
    then: str = ""
    is_reached: bool = False
    # Applies to all newsletters of the person.
    is_personal: bool = False

    @property
    def sentence(self) -> str:
        return f"{self.said} {self.then}".rstrip()

    @property
    def answer(self) -> str:
        """Answer “Do they get it?” in a cell: "Yes", "No: unsubscribed on 3 May". The sentence says all."""
        if self.is_reached or self.reason == last_stored.__name__:
            return "Yes, from the next issue" if self.reason == "first_issue" else "Yes"
        answer = self.said.replace(NOTHING_YET, "Not yet: ").replace(NOTHING, "No: ")
        head, _, why = answer.rstrip(".").partition(": ")
        if head not in ("No", "Not yet"):
            # It names an issue.
            return shortened(head, LONGEST_HEAD)
        return f"{head}: {_CLAUSE.split(why)[0].replace('confirmed on', 'confirmed')}"


def answer_of_all(reaches: Sequence[Reach]) -> str:
    """Answer for a person's newsletters, without those they left while they get others."""
    counted = [each for each in reaches if each.reason not in LEFT] or reaches
    if not counted:
        return "No: subscribed to nothing"
    answers = {each.answer for each in counted}
    if len(answers) == 1:
        return answers.pop()
    reached = sum(each.answer.startswith("Yes") for each in counted)
    if reached == len(counted):
        return "Yes"
    return f"{'Yes' if reached else 'No'}: {reached or 'none'} of {len(counted)} newsletters"


def reach(facts: ReachFacts) -> Reach:
    for rule in PERSONAL:
        if said := rule(facts):
            return Reach(_name(rule), f"{NOTHING}{said}.", is_personal=True)
    for rule in BLOCKING:
        if said := rule(facts):
            return Reach(_name(rule), f"{NOTHING}{said}.")
    for rule in OF_LAST_ISSUE:
        if said := rule(facts):
            return Reach(_name(rule), said, _next(facts))
    if facts.last is not None and facts.last.state == "sent":
        return Reach("sent", _sent(facts, facts.last), _next(facts), is_reached=True)
    for rule in NOT_YET:
        if said := rule(facts):
            after = "" if rule is awaits_approval else _next(facts)
            return Reach(_name(rule), f"{NOTHING_YET}{said}.", after)
    return Reach("first_issue", "Nothing was sent yet.", _next(facts), is_reached=True)


def person_reach(facts: ReachFacts) -> Reach | None:
    found = reach(facts)
    return found if found.is_personal else None


# --- the person


def erased(facts: ReachFacts) -> str:
    at = facts.person.erased_at
    return f"the data of this person was erased on {facts.day(at)}" if at else ""


def suppressed(facts: ReachFacts) -> str:
    person = facts.person
    if person.suppressed_at is None:
        return ""
    return f"on the Do not email list since {facts.day(person.suppressed_at)}{_why(person.suppressed_why)}"


def disabled(facts: ReachFacts) -> str:
    person = facts.person
    if person.disabled_at is None:
        return ""
    return f"the address is disabled since {facts.day(person.disabled_at)}{_why(person.disabled_why)}"


# --- the subscription


def switched(facts: ReachFacts) -> str:
    row = facts.subscription
    if not row.switched_to:
        return ""
    since = f" on {facts.day(row.switched_at)}" if row.switched_at else ""
    return f"changed to {row.switched_to}{since}"


def unsubscribed(facts: ReachFacts) -> str:
    row = facts.subscription
    if row.status != "unsubscribed":
        return ""
    on = f" on {facts.day(row.left_at)}" if row.left_at else ""
    if row.left_by == "import":
        return f"imported as unsubscribed{on}"
    by = ", by the subscriber" if row.left_by == "reader" else ", by an admin or a report of the mail service"
    said = f": “{row.left_why}”" if row.left_why else ""
    return f"unsubscribed{on}{by}{said}"


def unconfirmed(facts: ReachFacts) -> str:
    row = facts.subscription
    if row.status != "unconfirmed":
        return ""
    error = _why(row.confirmation_error)
    mail = f"the {'email' if facts.person.is_email else 'message'} that asks for it"
    until = row.confirm_until
    match row.confirmation:
        case "" if until is None:
            return "never confirmed, and never asked to confirm"
        case "failed":
            return f"not confirmed: {mail} was refused{error}"
        case "cancelled":
            return f"not confirmed: {mail} was not sent{error}"
        case "held":
            return f"not confirmed: {mail} is held{error}"
        case "wanted" | "queued" | "deferred" | "sending":
            return f"not confirmed: {mail} is not sent yet{error}"
    if until is not None and until <= facts.now:
        return f"not confirmed: the link in {mail} expired on {facts.day(until)}"
    if row.confirmation == "stored":
        return f"not confirmed: {mail} was kept in the mailbox here, not sent"
    return f"not confirmed yet{f'; the link expires on {facts.moment(until)}' if until else ''}"


def paused(facts: ReachFacts) -> str:
    until = facts.subscription.paused_until
    if until is None or until <= facts.now:
        return ""
    return f"paused by the subscriber until {facts.day(until)}"


# --- the newsletter, where nothing goes to anybody


def newsletter_paused(facts: ReachFacts) -> str:
    at = facts.newsletter.paused_at
    if at is None:
        return ""
    return f"sending of this newsletter is paused since {facts.day(at)}{_why(facts.newsletter.paused_why)}"


# --- the last issue


def last_paused(facts: ReachFacts) -> str:
    last = facts.last
    if last is None or not last.is_paused or last.state not in ("", *UNFINISHED):
        return ""
    return f"Does not get “{last.title}” yet: the issue is paused{_why(last.paused_why)}."


def last_held(facts: ReachFacts) -> str:
    last = facts.last
    if last is None or last.state != "held":
        return ""
    why = {
        "restore": "it is held because a backup was restored; decide on the overview",
        "domain": f"it is held because sending to the recipient’s domain is {last.domain or 'paused'}",
        "pause": "it is held from a pause, and is sent soon",
    }.get(last.held_for, f"it is held for you{_why(last.error)}")
    return f"Did not get “{last.title}”: {why}."


def last_failed(facts: ReachFacts) -> str:
    last = facts.last
    if last is None or last.state != "failed":
        return ""
    return f"Did not get “{last.title}” of {facts.day(last.published_at)}: it was refused{_why(last.error)}."


def last_cancelled(facts: ReachFacts) -> str:
    last = facts.last
    if last is None or last.state != "cancelled":
        return ""
    why = (
        "the issue was cancelled" if last.is_cancelled else _plain(last.error) or "its delivery was cancelled"
    )
    return f"Did not get “{last.title}” of {facts.day(last.published_at)}: {why}."


def last_waits(facts: ReachFacts) -> str:
    last = facts.last
    if last is None or last.state not in ("queued", "deferred", "sending"):
        return ""
    if last.is_restoring:
        why = "all that was unsent is held because a backup was restored; decide on the overview"
    elif last.lane:
        why = f"the account that sends it is {last.lane}"
    elif last.domain:
        why = f"sending to the recipient’s domain is {last.domain}"
    elif last.state == "deferred":
        at = f" on {facts.moment(last.due_at)}" if last.due_at and last.due_at > facts.now else ""
        why = f"it is tried again{at}{_why(last.error)}"
    else:
        why = "it is being sent" if last.state == "sending" else "it waits to be sent"
    return f"Does not have “{last.title}” yet: {why}."


def last_stored(facts: ReachFacts) -> str:
    last = facts.last
    if last is None or last.state != "stored":
        return ""
    on = facts.day(last.sent_at or last.published_at)
    return f"Did not get “{last.title}”: it was kept in the mailbox here on {on}, not sent."


# --- nothing so far


def takes_over(facts: ReachFacts) -> str:
    row = facts.subscription
    if not row.takes_over_from:
        return ""
    on = f", on {facts.day(row.takes_over_at)}" if row.takes_over_at else ", with its next issue"
    return f"gets {row.takes_over_from} until the change takes effect{on}"


def confirmed_later(facts: ReachFacts) -> str:
    last, at = facts.last, facts.subscription.confirmed_at
    if last is None or last.state or at is None or at < last.published_at:
        return ""
    return f"confirmed on {facts.day(at)}, after the last issue of {facts.day(last.published_at)}"


def not_among(facts: ReachFacts) -> str:
    last = facts.last
    if last is None or last.state:
        return ""
    if last.is_cancelled:
        return f"the last issue, of {facts.day(last.published_at)}, was cancelled"
    return f"was not among the recipients of the last issue, of {facts.day(last.published_at)}"


def no_feed(facts: ReachFacts) -> str:
    return "" if facts.newsletter.feeds else "this newsletter has no feed"


def stopped(facts: ReachFacts) -> str:
    return "this newsletter is stopped and adds no new posts" if facts.newsletter.stopped else ""


def feeds_unread(facts: ReachFacts) -> str:
    return (
        "" if facts.newsletter.feeds_read else "no feed of this newsletter is read: all are paused or stopped"
    )


def no_post(facts: ReachFacts) -> str:
    return "" if facts.newsletter.has_posts else "its feeds have no post to send"


def awaits_approval(facts: ReachFacts) -> str:
    return "the first issue waits for your approval" if facts.newsletter.draft == "approval" else ""


PERSONAL: tuple[Rule, ...] = (erased, suppressed, disabled)
BLOCKING: tuple[Rule, ...] = (switched, unsubscribed, unconfirmed, paused, newsletter_paused)
OF_LAST_ISSUE: tuple[Rule, ...] = (
    last_paused,
    last_held,
    last_failed,
    last_cancelled,
    last_waits,
    last_stored,
)
NOT_YET: tuple[Rule, ...] = (
    takes_over,
    confirmed_later,
    not_among,
    no_feed,
    stopped,
    feeds_unread,
    awaits_approval,
    no_post,
)


def _name(rule: Rule) -> str:
    return rule.__name__


def _sent(facts: ReachFacts, last: LastIssueFacts) -> str:
    return f"Gets it: “{last.title}” was sent on {facts.day(last.sent_at or last.published_at)}."


def _next(facts: ReachFacts) -> str:
    row, mine = facts.newsletter, facts.subscription
    if mine.changes_to:
        on = f" on {facts.day(mine.changes_at)}" if mine.changes_at else " with its next issue"
        return f"Changes to {mine.changes_to}{on}."
    if row.draft == "approval":
        return "The next issue waits for your approval."
    if row.draft == "reader":
        return "The first issue waits for its first subscriber, and is sent now."
    if row.draft == "release" and row.release_at is not None:
        return f"The next issue is sent on {facts.moment(row.release_at)}."
    if row.collect_error:
        return f"The next issue couldn’t be created, and is retried{_why(row.collect_error)}."
    if row.closes_at is not None and row.closes_at > facts.now and _goes_on(row):
        return f"The next issue is sent on {facts.moment(row.closes_at)}."
    if row.collected:
        return "The next issue is collecting posts."
    if not _goes_on(row):
        return ""
    return "The next issue is sent when a post settles."


def _goes_on(row: NewsletterFacts) -> bool:
    return bool(row.collected or (row.feeds and row.feeds_read and not row.stopped))


def _why(words: str) -> str:
    return f" ({_plain(words)})" if words else ""


def _plain(words: str) -> str:
    return words.strip().rstrip(".")


def expires(asked_at: datetime, hours: int) -> datetime:
    return asked_at + timedelta(hours=hours)
