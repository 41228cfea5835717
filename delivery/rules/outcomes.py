from dataclasses import dataclass
from datetime import datetime, timedelta

from common.backoff import delay

FIRST_RETRY = timedelta(minutes=1)
LONGEST_RETRY = timedelta(hours=4)
# RFC 5321 §4.5.4.1: give up after at least 4–5 days.
GIVE_UP = timedelta(days=4)
# With this back-off they take most of a day. Time without attempts does not count.
LEAST_TRIES = 12
# After so many failures a serial lane passes a message over. They take over two and a half hours, so no
# outage of two hours changes the order.
TRIES_IN_ORDER = 16
# A server may still be working on the message. After one more a person decides.
UNKNOWN_END_RETRIES = (timedelta(minutes=15), timedelta(hours=1))
LANE_RETRY = timedelta(seconds=15)
LANE_LONGEST = timedelta(minutes=15)
# Asked hourly, later daily: a person must restore a right.
FORBIDDEN_RETRY = timedelta(hours=1)
FORBIDDEN_OFTEN_FOR = timedelta(days=3)
FORBIDDEN_LONGEST = timedelta(days=1)
# Longest delay that a server may name.
LANE_LONGEST_AS_TOLD = timedelta(days=1)
LEFT = "Left before it was sent."
SUBSCRIPTION_GONE = "The subscription was deleted before it was sent."
UNCONFIRMED = "The subscription is no longer confirmed."
STAYED = "They came back before it was sent."
# Mails for subscribers only. A farewell or sign-in link may also go to others.
FOR_SUBSCRIBERS = frozenset({"issue", "confirmation", "welcome", "edit", "delete"})


@dataclass(frozen=True, slots=True)
class Next:
    state: str
    due_at: datetime | None = None


# Where only a person can tell whether it arrived. "skip" prefers losing a post over repeating it.
UNREPEATED = {"hold": Next("held"), "skip": Next("failed")}


def when_unsure(policy: str, wish: str) -> str:
    """Return the crash policy. A newsletter may choose where the channel holds."""
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
    """Defer by a back-off of 1 minute to 4 hours, or as the server said; fail after four days.

    `attempts` includes this one. Days without attempts do not count: it also needs a dozen.
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
    """Return the state after an expired lease.

    Due at once the first time, then with a back-off, as this message may be what kills workers.
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
    """Return the state of a message that may have arrived.

    `unknown_ends` counts such attempts, this one included; 0 if the service recognises repeated messages. It
    waits long in between and is then held, or a slow server would get a copy per attempt.
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
    """Return the end of a lane's rest: 15 seconds to 15 minutes by consecutive `failures`, or as told."""
    rest = now + delay(failures, first=LANE_RETRY, limit=LANE_LONGEST, chance=chance)
    return max(rest, min(retry_at, now + LANE_LONGEST_AS_TOLD)) if retry_at is not None else rest


def forbidden_pause(since: datetime, *, now: datetime) -> datetime:
    return now + (FORBIDDEN_RETRY if now - since < FORBIDDEN_OFTEN_FOR else FORBIDDEN_LONGEST)


def rest_in_order(after: Next, *, attempts: int, retry_at: datetime | None, now: datetime) -> datetime | None:
    """Return until when a serial lane rests instead of deferring its failed message.

    A message that the service cannot digest looks like an outage, so the lane waits and keeps its order.
    Later ones may pass if the service named a long delay, or after TRIES_IN_ORDER failures.
    """
    if after.due_at is None:
        return None
    if retry_at is not None and retry_at - now > LANE_LONGEST:
        return None
    return min(after.due_at, now + LANE_LONGEST) if attempts < TRIES_IN_ORDER else None


def cancel_reason(
    kind: str, subscription_status: str | None, *, suppressed: bool, disabled: str = "", paused: str = ""
) -> str:
    """`subscription_status` is None if it is gone; `paused` says when the reader's pause ends."""
    if suppressed:
        return "The address is on the suppression list."
    if disabled:
        return f"The destination is disabled: {disabled}"
    if kind in FOR_SUBSCRIBERS and subscription_status == "unsubscribed":
        return LEFT
    if kind == "farewell" and subscription_status == "confirmed":
        return STAYED
    if kind == "issue" and subscription_status == "confirmed" and paused:
        return f"Paused until {paused}."
    if kind != "issue" or subscription_status == "confirmed":
        return ""
    return SUBSCRIPTION_GONE if subscription_status is None else UNCONFIRMED
