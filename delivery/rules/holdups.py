"""What waits because of a refusal that is about us: for how long, and when it is more than one domain's."""

from collections.abc import Collection
from datetime import datetime, timedelta

from common.backoff import delay
from delivery.rules.meaning import Meaning
from delivery.rules.refusals import LARGE_DOMAINS, SHARE

FIRST_REST = timedelta(minutes=5)
LONGEST_REST = timedelta(hours=4)
# What waits is tried at once when the rest is over: no refusal for so long after it, and all is well again.
WELL_AFTER = timedelta(hours=1)
# A person has to look at a domain that has refused all for so long: what waits is not news any more.
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
    """Until when a domain that refuses our letters is left alone: from 5 minutes to 4 hours.

    `failures` in a row, counting this one.
    """
    return now + delay(failures, first=FIRST_REST, limit=LONGEST_REST, chance=chance)


def is_over(free_at: datetime | None, now: datetime) -> bool:
    """Whether a refusal now is a new trouble, not the one of the last rest."""
    return free_at is None or now - free_at > WELL_AFTER


def is_everybodys(resting: int, *, sent: bool) -> bool:
    """Whether so many `resting` domains, and nobody who takes the letter, mean that the fault is nearer."""
    return resting >= LARGE_DOMAINS and not sent


def refuses_sender(domains: Collection[str], *, refused: int, sent: int, untried: bool) -> bool:
    """Whether a newsletter's sender is refused as such, and not by one odd domain that is written to.

    `refused` letters of an issue to those `domains` were refused for it, `sent` were taken; `untried`: others
    are still to go.
    """
    if not sent:
        return len(domains) >= LARGE_DOMAINS or not untried
    return len(domains) >= LARGE_DOMAINS and refused >= SHARE * (refused + sent)


def advice(meaning: Meaning) -> str:
    """What to do about it; empty where nothing can be said in general."""
    return HOLDUP_ADVICE.get(meaning, "")
