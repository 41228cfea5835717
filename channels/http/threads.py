"""Threads of posts, each made once."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from channels.base import Ambiguous, Outcome, Permanent, Sent, Temporary
from channels.http.client import Failed

# Text, key, previous id ("" for the first) → post. Raises Failed.
PostReply = Callable[[str, str, str], Sent]
# Text, previous id → an earlier attempt's post. Raises Failed.
LookUp = Callable[[str, str], Sent | None]


def post_thread(
    texts: Sequence[str],
    post: PostReply,
    *,
    key: str,
    progress: Mapping[str, Any],
    look_up: LookUp | None = None,
) -> Sent:
    """Post the missing texts; the n-th has the key `<key>-n`. Raises Failed.

    A text that is refused after the first ends the thread; posted texts remain.
    """
    posted, remark = [Sent(*one) for one in progress.get("posted", ())], ""
    for count, text in enumerate(texts[len(posted) :], len(posted) + 1):
        before = posted[-1].remote_id if posted else ""
        try:
            try:
                found = look_up(text, before) if look_up else None
            except Failed as failed:
                # Only a person can decide.
                raise Failed(not_looked_up(failed.outcome, holds=True)) from None
            posted.append(found or post(text, key if count == 1 else f"{key}-{count}", before))
        except Failed as failed:
            if posted and isinstance(failed.outcome, Permanent):
                remark = cut_short(len(posted), len(texts), failed.outcome)
                break
            done = {"posted": [[one.remote_id, None, one.url] for one in posted]} if posted else {}
            raise Failed(carrying(failed.outcome, done)) from None
    return replace(posted[0], parts=tuple(one.remote_id for one in posted[1:]), remark=remark)


def cut_short(posted: int, of: int, why: Permanent) -> str:
    return f"The thread ends after {posted} of {of} posts. {why.text}"


def not_looked_up(outcome: Outcome, *, holds: bool) -> Ambiguous:
    why = "" if isinstance(outcome, Sent) else outcome.text
    return Ambiguous(f"Couldn’t check whether it arrived. {why}", holds=holds)


def carrying(outcome: Outcome, done: Mapping[str, Any]) -> Outcome:
    """Add earlier progress to an outcome that is not final."""
    if not done or not isinstance(outcome, Temporary | Ambiguous):
        return outcome
    return replace(outcome, progress={**done, **(outcome.progress or {})})
