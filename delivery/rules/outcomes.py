"""What becomes of a delivery after an attempt."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from common.backoff import delay

FIRST_RETRY = timedelta(minutes=1)
LONGEST_RETRY = timedelta(hours=4)
# RFC 5321 4.5.4.1: the give-up time generally needs to be at least 4-5 days.
GIVE_UP = timedelta(days=4)
# With that back-off, so many tries take most of a day: time in which nothing was tried is not counted.
LEAST_TRIES = 12
# Waits after a message whose end is unknown: a server that is still at it must not get the next copy yet.
# After one more unknown end a person decides.
UNKNOWN_END_RETRIES = (timedelta(minutes=15), timedelta(hours=1))
LANE_RETRY = timedelta(seconds=15)
LANE_LONGEST = timedelta(minutes=15)
# A destination that refuses us until a person gives a right back is asked each hour, later each day.
FORBIDDEN_RETRY = timedelta(hours=1)
FORBIDDEN_OFTEN_FOR = timedelta(days=3)
FORBIDDEN_LONGEST = timedelta(days=1)
# A server that names a later time is not believed.
LANE_LONGEST_AS_TOLD = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Next:
    """The state a delivery goes into; `due_at` when it is tried again."""

    state: str
    due_at: datetime | None = None


# Where only a person can tell whether a message arrived: held for one, unless its newsletter would rather
# lose a post than show it twice ("skip").
UNREPEATED = {"hold": Next("held"), "skip": Next("failed")}


def when_unsure(policy: str, wish: str) -> str:
    """A channel's crash policy as its newsletter's option `when_unsure` has it: hold, repeat or skip.

    Only a channel that holds asks: the others find out by themselves.
    """
    if policy != "hold":
        return policy
    return {"repeat": "resend", "skip": "skip"}.get(wish, "hold")


def after_temporary(
    *,
    attempts: int,
    created_at: datetime,
    retry_at: datetime | None,
    now: datetime,
    chance: float | None = None,
) -> Next:
    """Deferred with a back-off from 1 minute to 4 hours, or as the server said; failed after four days.

    `attempts` counts this one. Days on which its lane could not send at all do not make it fail: it is tried
    a dozen times by itself before that.
    """
    due_at = now + delay(attempts, first=FIRST_RETRY, limit=LONGEST_RETRY, chance=chance)
    due_at = max(due_at, retry_at) if retry_at is not None else due_at
    is_late = due_at - created_at > GIVE_UP
    if is_late and (attempts >= LEAST_TRIES or due_at - now > GIVE_UP):
        return Next("failed")
    return Next("deferred", due_at)


def after_crash(
    policy: str, *, attempts: int, created_at: datetime, now: datetime, chance: float | None = None
) -> Next:
    """A lease that ran out: due again, or held for a person, as the channel's crash policy says.

    At once the first time. After that as after a temporary failure: it may be this very message that ends
    every worker. `attempts` counts this one.
    """
    if policy in UNREPEATED:
        return UNREPEATED[policy]
    if attempts <= 1:
        return Next("queued", now)
    return after_temporary(
        attempts=attempts - 1, created_at=created_at, retry_at=None, now=now, chance=chance
    )


def after_ambiguous(
    policy: str,
    *,
    attempts: int,
    created_at: datetime,
    now: datetime,
    unknown_ends: int = 1,
    chance: float | None = None,
) -> Next:
    """It may have arrived: tried again or held, as the crash policy says.

    `unknown_ends` counts the attempts of this mail that ended so, with this one. It waits long between them
    and is then held, or a slow server would get a copy at every try. 0: the channel's service knows a message
    that comes again.
    """
    if policy in UNREPEATED:
        return UNREPEATED[policy]
    if policy != "resend" or not unknown_ends:
        return after_temporary(
            attempts=attempts, created_at=created_at, retry_at=None, now=now, chance=chance
        )
    if unknown_ends > len(UNKNOWN_END_RETRIES):
        return Next("held")
    wait = UNKNOWN_END_RETRIES[unknown_ends - 1]
    return Next("deferred", now + wait + delay(1, first=wait / 10, limit=wait / 10, chance=chance))


def lane_pause(
    failures: int, *, now: datetime, retry_at: datetime | None, chance: float | None = None
) -> datetime:
    """Until when a lane that cannot send at all rests: 15 seconds to 15 minutes, or as the server said.

    `failures` in a row, counting this one.
    """
    rest = now + delay(failures, first=LANE_RETRY, limit=LANE_LONGEST, chance=chance)
    return max(rest, min(retry_at, now + LANE_LONGEST_AS_TOLD)) if retry_at is not None else rest


def forbidden_pause(since: datetime, *, now: datetime) -> datetime:
    """Return until when a lane rests whose destination has refused us since then."""
    return now + (FORBIDDEN_RETRY if now - since < FORBIDDEN_OFTEN_FOR else FORBIDDEN_LONGEST)


def rest_in_order(after: Next, *, attempts: int, retry_at: datetime | None, now: datetime) -> datetime | None:
    """Return until when a serial lane rests instead of putting off the message that failed, if it does.

    Nobody can tell a message that its service cannot digest from a service that is down, so the lane waits
    for the message, and the order is kept. Later messages may pass it when the service named a long delay for
    it, or when it failed LEAST_TRIES times by itself, which takes hours.
    """
    if after.due_at is None:
        return None
    if retry_at is not None and retry_at - now > LANE_LONGEST:
        return None
    return min(after.due_at, now + LANE_LONGEST) if attempts < LEAST_TRIES else None


class RecipientStatus(NamedTuple):
    """How the subscription behind a delivery stands when it is claimed. None: there is none any more.

    `paused`: until when the reader wants no letters, in words.
    """

    kind: str
    subscription_status: str | None
    suppressed: bool
    disabled: str = ""
    paused: str = ""


LEFT = "Left before it was sent."
SUBSCRIPTION_GONE = "The subscription was deleted before it was sent."
UNCONFIRMED = "The subscription is no longer confirmed."
STAYED = "They came back before it was sent."
# Mails that make no sense to someone who left; a farewell does, and a sign-in link too.
FOR_SUBSCRIBERS = frozenset({"issue", "confirmation", "welcome", "edit", "delete"})


def cancel_reason(recipient: RecipientStatus) -> str:
    """Why a claimed delivery must not go out after all; empty when it may."""
    if recipient.suppressed:
        return "The address is on the suppression list."
    if recipient.disabled:
        return f"The destination is disabled: {recipient.disabled}"
    if recipient.kind in FOR_SUBSCRIBERS and recipient.subscription_status == "unsubscribed":
        return LEFT
    if recipient.kind == "farewell" and recipient.subscription_status == "confirmed":
        return STAYED
    if recipient.kind == "issue" and recipient.subscription_status == "confirmed" and recipient.paused:
        return f"Paused until {recipient.paused}."
    if recipient.kind != "issue" or recipient.subscription_status == "confirmed":
        return ""
    return SUBSCRIPTION_GONE if recipient.subscription_status is None else UNCONFIRMED
