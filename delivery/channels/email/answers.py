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


# RFC 4954 §6: log in first, log in otherwise. The settings are wrong, not the recipient.
_LOGIN_CODES = frozenset({530, 534, 535, 538})
_LOGIN_STATUS = frozenset({"5.7.8", "5.7.9", "5.7.11", "5.7.14"})
_RELAY = re.compile(r"\brelay", re.IGNORECASE)
# Each message for such a host hears this once, whatever else goes on. The second is rspamd's way to say so.
_GREYLISTED = re.compile(
    r"gr[ea]y-?\s?list|\A451 4\.7\.1 (?:please )?try again later\.?\Z|please retry in \d", re.IGNORECASE
)
# Words for “too fast” without one of the codes that say so.
_TOO_FAST = re.compile(
    r"throttl|\brate.{0,20}(?:limit|exceed)|too many (?:\w+ )?(?:connections|messages|mails)", re.IGNORECASE
)
# RFC 3463 §3.5: “mail system congestion” only lasts for a while. With 550, it is a daily quota of ours.
_CONGESTED = "5.4.5"
_TOO_LARGE = frozenset({"5.2.3", "5.3.4"})


def words(code: int, text: bytes | str) -> str:
    """The server's own words on one line: printable, at most MAX_TEXT characters."""
    if isinstance(text, bytes):
        text = text[: 4 * MAX_TEXT].decode("utf-8", "replace")
    line = text if text.isprintable() else "".join(one if one.isprintable() else " " for one in text)
    line = " ".join(f"{code if code > 0 else ''} {line}".split())
    return line if len(line) <= MAX_TEXT else line[: MAX_TEXT - 1] + "…"


def judge(stage: Stage, code: int, text: bytes) -> Outcome | None:
    """None: go on with the next command. Only the end of the message can be Sent or Ambiguous."""
    said = words(code, text)
    if stage is Stage.MESSAGE and 200 <= code < 300:
        return Sent(remote_id=said[:255])
    status = _status(text)
    if 400 <= code < 500:
        slows = _is_about_us(code, status, said)
        return Temporary(said, stops_lane=slows, suspect=slows, status=status)
    if 500 <= code < 600:
        return _refused(stage, code, status, said)
    if stage is Stage.MESSAGE:
        return Ambiguous(_strange(stage, said))
    expected = code == 354 if stage is Stage.DATA else 200 <= code < 300
    return None if expected else Temporary(_strange(stage, said))


def _is_about_us(code: int, status: str, said: str) -> bool:
    """Rate, policy, log-in: the next message of this lane would hear the same."""
    if code in (421, 454):
        return True
    if _GREYLISTED.search(said):
        return False
    # 4.2.x is about one mailbox: it may get too much from everybody.
    return status.startswith("4.7.") or (not status.startswith("4.2.") and bool(_TOO_FAST.search(said)))


def _refused(stage: Stage, code: int, status: str, said: str) -> Outcome:
    if stops := _settings_or_quota(stage, code, status, said):
        return Temporary(stops, stops_lane=True, suspect=True, status=status)
    # 503: the dialogue went out of step. At MAIL the recipient is not named yet: a sender that is refused
    # must not fail a whole list for good, so it stays with the back-off until someone corrects it.
    sender_refused = stage is Stage.MAIL and code != 552 and status not in _TOO_LARGE
    if code == 503 or sender_refused:
        return Temporary(said, status=status)
    return Permanent(said, status=status)


def _settings_or_quota(stage: Stage, code: int, status: str, said: str) -> str:
    """The sentence about a refusal that every message would hear; empty for any other."""
    if code in _LOGIN_CODES or status in _LOGIN_STATUS:
        return f"The mail server wants another login than EMAIL_URL has: {said}"
    if stage is Stage.RCPT and _RELAY.search(said):
        return f"The mail server does not relay for us; check EMAIL_URL: {said}"
    return said if status == _CONGESTED else ""


def _status(text: bytes) -> str:
    """The enhanced code at the beginning (RFC 2034), such as 5.1.1; empty without one."""
    match = re.match(rb"([245]\.\d{1,3}\.\d{1,3})(?![\d.])", text.lstrip())
    return match[1].decode("ascii") if match else ""


def _strange(stage: Stage, said: str) -> str:
    return words(0, f"The mail server answered {stage} with something else than SMTP: {said}")
