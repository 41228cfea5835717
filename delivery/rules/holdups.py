"""Letters that wait because a server refuses us: how long, and whether others are affected."""

from collections.abc import Collection
from datetime import datetime, timedelta

from common.backoff import delay
from delivery.rules.meaning import Meaning
from delivery.rules.refusals import LARGE_DOMAINS, SHARE

FIRST_REST = timedelta(minutes=5)
LONGEST_REST = timedelta(hours=4)
# After a rest all is tried at once. Without a refusal for this long, the trouble is over.
WELL_AFTER = timedelta(hours=1)
# A person has to look at a domain that refused everything this long: the letters are no news any more.
LONGEST_REFUSAL = timedelta(days=4)

HOLDUP_ADVICE = {
    Meaning.SENDER: "Let the account (Mail set-up, or EMAIL_URL) send from that address, or change the"
    " newsletter's sender.",
    Meaning.IDENTITY: "Look at SPF, DKIM, DMARC and the name of the server's address (manage.py check_mail).",
    Meaning.BLOCKED: "Look the mail server's address up at the list that it names, and ask to be taken off.",
    Meaning.RELAY: "Check server and login (Mail set-up, or EMAIL_URL): it does not send to others for us.",
    Meaning.LOGIN: "Check user and password (Mail set-up, or EMAIL_URL).",
    Meaning.RATE: "Set a limit that it takes (manage.py alter_lane, --per-hour or --rate).",
    Meaning.SIZE: "Raise the mail server's limit (Postfix: message_size_limit), or send fewer posts at once.",
}


def domain_rests_until(failures: int, now: datetime, *, chance: float | None = None) -> datetime:
    """Return the end of a domain's rest: 5 minutes to 4 hours by consecutive `failures`."""
    return now + delay(failures, first=FIRST_REST, limit=LONGEST_REST, chance=chance)


def is_over(free_at: datetime | None, now: datetime) -> bool:
    """Return whether a refusal now is a new trouble, not that of the last rest."""
    return free_at is None or now - free_at > WELL_AFTER


def is_everybodys(resting: int, *, sent: bool) -> bool:
    """Return whether this many resting domains, with nothing sent, mean that the fault is ours."""
    return resting >= LARGE_DOMAINS and not sent


def refuses_sender(domains: Collection[str], *, refused: int, sent: int, untried: bool) -> bool:
    """Return whether a newsletter's sender is refused, not only by one odd domain.

    `refused` and `sent`: letters of an issue to these `domains`; `untried`: others remain.
    """
    if not sent:
        return len(domains) >= LARGE_DOMAINS or not untried
    return len(domains) >= LARGE_DOMAINS and refused >= SHARE * (refused + sent)


def advice(meaning: Meaning) -> str:
    return HOLDUP_ADVICE.get(meaning, "")
