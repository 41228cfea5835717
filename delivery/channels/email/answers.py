"""What a mail server's answer means for the recipient and for the lane. Pure."""

import re
from enum import StrEnum

from delivery.channels.base import Ambiguous, Outcome, Permanent, Sent, Temporary

MAX_TEXT = 500


class Stage(StrEnum):
    """Where in the dialogue; the value is for messages to people."""

    MAIL = "MAIL FROM"
    RCPT = "RCPT TO"
    DATA = "DATA"
    MESSAGE = "the end of the message"


# RFC 3463 §3.2. 5.1.7 and 5.1.8 are about the sender; 5.1.0 and 5.1.4 leave open what is wrong.
_NO_SUCH_ADDRESS = frozenset({"5.1.1", "5.1.2", "5.1.3", "5.1.6", "5.1.10"})
# RFC 4954 §6: log in first, log in otherwise. The settings are wrong, not the recipient.
_LOGIN_CODES = frozenset({530, 534, 535, 538})
_LOGIN_STATUS = frozenset({"5.7.8", "5.7.9", "5.7.11", "5.7.14"})
_RELAY = re.compile(r"\brelay", re.IGNORECASE)
_GREYLISTED = re.compile(r"gr[ea]y-?\s?list", re.IGNORECASE)
_TOO_LARGE = frozenset({"5.2.3", "5.3.4"})


def words(code: int, text: bytes | str) -> str:
    """The server's own words on one line: printable, at most MAX_TEXT characters."""
    if isinstance(text, bytes):
        text = text[: 4 * MAX_TEXT].decode("utf-8", "replace")
    line = "".join(character if character.isprintable() else " " for character in text)
    line = " ".join(f"{code if code > 0 else ''} {line}".split())
    return line if len(line) <= MAX_TEXT else line[: MAX_TEXT - 1] + "…"


def judge(stage: Stage, code: int, text: bytes) -> Outcome | None:
    """None: go on with the next command. Only the end of the message can be Sent or Ambiguous."""
    said = words(code, text)
    status = _status(text)
    if 400 <= code < 500:
        return Temporary(said, stops_lane=_is_about_us(code, status, said))
    if 500 <= code < 600:
        return _refused(stage, code, status, said)
    if stage is Stage.MESSAGE:
        return Sent(remote_id=said[:255]) if 200 <= code < 300 else Ambiguous(_strange(stage, said))
    expected = code == 354 if stage is Stage.DATA else 200 <= code < 300
    return None if expected else Temporary(_strange(stage, said))


def _is_about_us(code: int, status: str, said: str) -> bool:
    """Rate, policy, log-in: the next message of this lane would hear the same."""
    return code in (421, 454) or (status.startswith("4.7.") and not _GREYLISTED.search(said))


def _refused(stage: Stage, code: int, status: str, said: str) -> Outcome:
    if code in _LOGIN_CODES or status in _LOGIN_STATUS:
        return Temporary(f"The mail server wants another login than EMAIL_URL has: {said}", stops_lane=True)
    if stage is Stage.RCPT and _RELAY.search(said):
        return Temporary(f"The mail server does not relay for us; check EMAIL_URL: {said}", stops_lane=True)
    # 503: the dialogue went out of step. At MAIL the recipient is not named yet: a sender that is refused
    # must not fail a whole list for good, so it stays with the back-off until someone corrects it.
    sender_refused = stage is Stage.MAIL and code != 552 and status not in _TOO_LARGE
    if code == 503 or sender_refused:
        return Temporary(said)
    return Permanent(said, disables=stage is Stage.RCPT and status in _NO_SUCH_ADDRESS)


def _status(text: bytes) -> str:
    """The enhanced code at the beginning (RFC 2034), such as 5.1.1; empty without one."""
    match = re.match(rb"([245]\.\d{1,3}\.\d{1,3})", text.lstrip())
    return match[1].decode("ascii") if match else ""


def _strange(stage: Stage, said: str) -> str:
    return words(0, f"The mail server answered {stage} with something else than SMTP: {said}")
