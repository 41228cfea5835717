"""Why a subscriber gets a newsletter or not: the first reason by precedence."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from common.text import shortened
from delivery.rules.reach_facts import PersonFacts, ReachFacts

NOTHING, NOTHING_YET = "Gets nothing: ", "Gets nothing yet: "
LEFT_STATUSES = ("switched", "unsubscribed")
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
    counted = [each for each in reaches if each.reason not in LEFT_STATUSES] or reaches
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
    if personal := person_reach(facts):
        return personal
    for rule in BLOCKING:
        if said := rule(facts):
            return Reach(_name(rule), f"{NOTHING}{said}.")
    for rule in OF_LAST_ISSUE:
        if said := rule(facts):
            return Reach(_name(rule), said, _next(facts))
    if facts.state == "sent":
        said = f"Gets it: {facts.title} was sent on {_sent_on(facts)}."
        return Reach("sent", said, _next(facts), is_reached=True)
    for rule in NOT_YET_RULES:
        if said := rule(facts):
            after = "" if rule is awaits_approval else _next(facts)
            return Reach(_name(rule), f"{NOTHING_YET}{said}.", after)
    return Reach("first_issue", "Nothing was sent yet.", _next(facts), is_reached=True)


def person_reach(facts: PersonFacts) -> Reach | None:
    for rule in PERSONAL:
        if said := rule(facts):
            return Reach(rule.__name__, f"{NOTHING}{said}.", is_personal=True)
    return None


# --- the person


def erased(facts: PersonFacts) -> str:
    at = facts.person.erased_at
    return f"the data of this person was erased on {facts.day(at)}" if at else ""


def suppressed(facts: PersonFacts) -> str:
    row = facts.suppression
    if row is None:
        return ""
    return f"on the Do not email list since {facts.day(row.created_at)}{_why(row.reason)}"


def disabled(facts: PersonFacts) -> str:
    person = facts.person
    if person.disabled_at is None:
        return ""
    return f"the address is disabled since {facts.day(person.disabled_at)}{_why(person.disabled_reason)}"


# --- the subscription


def switched(facts: ReachFacts) -> str:
    row, away = facts.subscription, facts.away
    is_gone = row.ended_at is not None or row.status == "unsubscribed"
    if away is None or away.settled_at is None or not is_gone:
        return ""
    return f"changed to {away.new.subscribable} on {facts.day(away.settled_at)}"


def unsubscribed(facts: ReachFacts) -> str:
    row = facts.subscription
    if row.status != "unsubscribed":
        return ""
    on = f" on {facts.day(row.left_at)}" if row.left_at else ""
    by_reader = row.undo_until is not None or bool(row.left_why)
    if not by_reader and row.confirmed_at is None and facts.asked_at is None:
        return f"imported as unsubscribed{on}"
    by = ", by the subscriber" if by_reader else ", by an admin or a report of the mail service"
    said = f": “{row.get_left_why_display()}”" if row.left_why else ""
    return f"unsubscribed{on}{by}{said}"


def unconfirmed(facts: ReachFacts) -> str:
    if facts.subscription.status != "unconfirmed":
        return ""
    error = _why(facts.confirmation_error)
    mail = f"the {'email' if facts.person.kind == 'email' else 'message'} that asks for it"
    until = facts.confirm_until
    match facts.confirmation:
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
    if facts.confirmation == "stored":
        return f"not confirmed: {mail} was kept in the mailbox here, not sent"
    return f"not confirmed yet{f'; the link expires on {facts.moment(until)}' if until else ''}"


def paused(facts: ReachFacts) -> str:
    until = facts.subscription.paused_until
    if until is None or until <= facts.now:
        return ""
    return f"paused by the subscriber until {facts.day(until)}"


# --- the newsletter, where nothing goes to anybody


def newsletter_paused(facts: ReachFacts) -> str:
    row = facts.newsletter
    if row.sending_paused_at is None:
        return ""
    since = facts.day(row.sending_paused_at)
    return f"sending of this newsletter is paused since {since}{_why(row.sending_paused_reason)}"


# --- the last issue


def last_paused(facts: ReachFacts) -> str:
    issue = facts.issue
    if issue is None or issue.paused_at is None or facts.state not in ("", *UNFINISHED):
        return ""
    return f"Does not get {facts.title} yet: the issue is paused{_why(issue.paused_reason)}."


def last_held(facts: ReachFacts) -> str:
    if facts.delivery is None or facts.state != "held":
        return ""
    why = {
        "restore": "it is held because a backup was restored; decide on the overview",
        "domain": f"it is held because sending to the recipient’s domain is {facts.domain or 'paused'}",
        "pause": "it is held from a pause, and is sent soon",
    }.get(facts.delivery.held_for, f"it is held for you{_why(facts.error)}")
    return f"Did not get {facts.title}: {why}."


def last_failed(facts: ReachFacts) -> str:
    if facts.state != "failed":
        return ""
    return f"Did not get {facts.title} of {facts.issue_day}: it was refused{_why(facts.error)}."


def last_cancelled(facts: ReachFacts) -> str:
    if facts.state != "cancelled":
        return ""
    why = _plain(facts.error) or "its delivery was cancelled"
    if _is_cancelled(facts):
        why = "the issue was cancelled"
    return f"Did not get {facts.title} of {facts.issue_day}: {why}."


def last_waits(facts: ReachFacts) -> str:
    row = facts.delivery
    if row is None or row.state not in ("queued", "deferred", "sending"):
        return ""
    if facts.is_restoring:
        why = "all that was unsent is held because a backup was restored; decide on the overview"
    elif facts.lane:
        why = f"the account that sends it is {facts.lane}"
    elif facts.domain:
        why = f"sending to the recipient’s domain is {facts.domain}"
    elif row.state == "deferred":
        at = f" on {facts.moment(row.due_at)}" if row.due_at > facts.now else ""
        why = f"it is tried again{at}{_why(row.last_error)}"
    else:
        why = "it is being sent" if row.state == "sending" else "it waits to be sent"
    return f"Does not have {facts.title} yet: {why}."


def last_stored(facts: ReachFacts) -> str:
    if facts.state != "stored":
        return ""
    return f"Did not get {facts.title}: it was kept in the mailbox here on {_sent_on(facts)}, not sent."


# --- nothing so far


def takes_over(facts: ReachFacts) -> str:
    here = facts.here
    if here is None or here.was_there:
        return ""
    on = f", on {facts.day(here.at)}" if here.at else ", with its next issue"
    return f"gets {here.old.subscribable} until the change takes effect{on}"


def in_series(facts: ReachFacts) -> str:
    return "gets the series first, and the newsletter after it" if facts.series_first else ""


def confirmed_later(facts: ReachFacts) -> str:
    issue, at = facts.issue, facts.subscription.confirmed_at
    if issue is None or facts.state or at is None or at < (issue.published_at or issue.created_at):
        return ""
    return f"confirmed on {facts.day(at)}, after the last issue of {facts.issue_day}"


def not_among(facts: ReachFacts) -> str:
    if facts.issue is None or facts.state:
        return ""
    if _is_cancelled(facts):
        return f"the last issue, of {facts.issue_day}, was cancelled"
    return f"was not among the recipients of the last issue, of {facts.issue_day}"


def no_feed(facts: ReachFacts) -> str:
    return "" if facts.newsletter.all_feeds else "this newsletter has no feed"


def stopped(facts: ReachFacts) -> str:
    return "this newsletter is stopped and adds no new posts" if facts.newsletter.stopped else ""


def feeds_unread(facts: ReachFacts) -> str:
    if facts.newsletter.read_feeds:
        return ""
    return "no feed of this newsletter is read: all are paused or stopped"


def no_post(facts: ReachFacts) -> str:
    return "" if facts.newsletter.brings_posts else "its feeds have no post to send"


def awaits_approval(facts: ReachFacts) -> str:
    draft = facts.draft
    is_open = draft is not None and not draft.awaits_reader and draft.release_at is None
    return "the first issue waits for your approval" if is_open else ""


PERSONAL: tuple[Callable[[PersonFacts], str], ...] = (erased, suppressed, disabled)
BLOCKING: tuple[Rule, ...] = (switched, unsubscribed, unconfirmed, paused, newsletter_paused)
OF_LAST_ISSUE: tuple[Rule, ...] = (
    last_paused,
    last_held,
    last_failed,
    last_cancelled,
    last_waits,
    last_stored,
)
NOT_YET_RULES: tuple[Rule, ...] = (
    takes_over,
    in_series,
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


def _is_cancelled(facts: ReachFacts) -> bool:
    return facts.issue is not None and facts.issue.cancelled_at is not None


def _sent_on(facts: ReachFacts) -> str:
    at = facts.delivery.sent_at if facts.delivery else None
    return facts.day(at) if at else facts.issue_day


def _next(facts: ReachFacts) -> str:
    draft, away = facts.draft, facts.away
    if away is not None and away.settled_at is None:
        on = f" on {facts.day(away.at)}" if away.at else " with its next issue"
        return f"Changes to {away.new.subscribable}{on}."
    if draft is not None and draft.awaits_reader:
        return "The first issue waits for its first subscriber, and is sent now."
    if draft is not None and draft.release_at is not None:
        return f"The next issue is sent on {facts.moment(draft.release_at)}."
    if draft is not None:
        return "The next issue waits for your approval."
    if facts.collect_error:
        return f"The next issue couldn’t be created, and is retried{_why(facts.collect_error)}."
    row = facts.newsletter
    goes_on = bool(facts.collected or (row.all_feeds and row.read_feeds and not row.stopped))
    if facts.closes_at is not None and facts.closes_at > facts.now and goes_on:
        return f"The next issue is sent on {facts.moment(facts.closes_at)}."
    if facts.collected:
        return "The next issue is collecting posts."
    return "The next issue is sent when a post settles." if goes_on else ""


def _why(words: str) -> str:
    return f" ({_plain(words)})" if words else ""


def _plain(words: str) -> str:
    return words.strip().rstrip(".")


def expires(asked_at: datetime, hours: int) -> datetime:
    return asked_at + timedelta(hours=hours)
