"""Posts that follow each other, each made once; and what an outcome carries so that nothing is done twice."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from channels.base import Ambiguous, Outcome, Permanent, Sent, Temporary
from channels.http.client import Failed

# Of a text, its key and the id of the post before it, "" for the first. Raises Failed.
PostReply = Callable[[str, str, str], Sent]
# Of a text and the id of the post before it: such a post, if an earlier attempt made it. Raises Failed.
LookUp = Callable[[str, str], Sent | None]


def post_thread(
    texts: Sequence[str],
    post: PostReply,
    *,
    key: str,
    progress: Mapping[str, Any],
    look_up: LookUp | None = None,
) -> Sent:
    """Posts what neither `progress` has nor a look-up finds; the n-th with the key `<key>-n`. Raises Failed.

    Once it has begun, a text that is refused ends the thread: what stands there stands.
    """
    posted, remark = [Sent(*one) for one in progress.get("posted", ())], ""
    for count, text in enumerate(texts[len(posted) :], len(posted) + 1):
        before = posted[-1].remote_id if posted else ""
        try:
            found = looked_up(look_up, text, before) if look_up else None
            posted.append(found or post(text, key if count == 1 else f"{key}-{count}", before))
        except Failed as failed:
            if posted and isinstance(failed.outcome, Permanent):
                remark = cut_short(len(posted), len(texts), failed.outcome)
                break
            done = {"posted": [[one.remote_id, "", one.url] for one in posted]} if posted else {}
            raise Failed(carrying(failed.outcome, done)) from None
    return replace(posted[0], parts=tuple(one.remote_id for one in posted[1:]), remark=remark)


def cut_short(posted: int, of: int, why: Permanent) -> str:
    """What is said of a thread whose rest was refused."""
    return f"The thread ends after {posted} of {of} posts. {why.text}"


def looked_up(look_up: LookUp, text: str, before: str) -> Sent | None:
    """What the look-up finds. Where the service cannot be asked, only a person can tell. Raises Failed."""
    try:
        return look_up(text, before)
    except Failed as failed:
        raise Failed(not_looked_up(failed.outcome, holds=True)) from None


def not_looked_up(outcome: Outcome, *, holds: bool) -> Ambiguous:
    """An earlier attempt may have arrived, and the service could not be asked."""
    why = "" if isinstance(outcome, Sent) else outcome.text
    return Ambiguous(f"Whether the post went out could not be looked up. {why}", holds=holds)


def carrying(outcome: Outcome, done: Mapping[str, Any]) -> Outcome:
    """The outcome with what was done besides what it says was done, where it is not the last."""
    if not done or not isinstance(outcome, Temporary | Ambiguous):
        return outcome
    return replace(outcome, progress={**done, **(outcome.progress or {})})


def still_unknown(outcome: Outcome) -> Outcome:
    """Of a repetition: one that must wait says nothing of the first attempt, whose time has to be kept."""
    if isinstance(outcome, Temporary):
        return Ambiguous(outcome.text, progress=outcome.progress)
    return outcome
