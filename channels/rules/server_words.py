"""Meaning of a mail server's refusal. Pure.

Decisive words precede codes: servers have answered 5.1.1 for full mailboxes and for blocked senders. The
server's own code precedes the `Status` of another host. Linear, up to MOST_SERVER_WORDS characters.
"""

import re
from functools import cache

from channels.rules.meaning import Meaning
from channels.rules.server_phrases import LIKELY, LISTS, SURE, VAGUE, Table

MOST_SERVER_WORDS = 2_000
# Mailgun's code for a domain without mail servers, after its last attempt.
GIVEN_UP = 498
_CODE = re.compile(r"(?<![0-9.])([245]\.[0-9]{1,3}\.[0-9]{1,3})(?![0-9]|\.[0-9])")
# Hosts quote each other. The last one knows.
_QUOTED = re.compile(r"\bsaid: |\breturned '|\berror (?:\d{3}-)?'|<<< |-> |\bserver was:|\bresponse was:")
# “Failed”, and a dialogue without recipients.
_EMPTY = re.compile(r"[245]\.(?:0\.0|5\.[01])")
# RFC 5321 §4.2.1.
_REPLY = re.compile(r"(?:\A|[:'\[>] ?|<<< )([45][0-9]{2})[ -]")
_BY_STATUS = {
    # RFC 3463 §3.2. Exchange Online uses 5.1.351 for another server's “unknown recipient”.
    **dict.fromkeys(("5.1.0", "5.1.1", "5.1.3", "5.1.4", "5.1.6", "5.1.351"), Meaning.NO_ADDRESS),
    # RFC 7505 §4.2; RFC 3463 §3.5 “unable to route”: Postfix and qmail use it without a mail host.
    **dict.fromkeys(("5.1.2", "5.1.10", "5.4.4", "5.4.310"), Meaning.NO_HOST),
    "5.2.2": Meaning.FULL,
    **dict.fromkeys(("5.2.3", "5.3.4"), Meaning.SIZE),
    # RFC 3463 §3.5 “congestion” with 550 is a daily quota of ours; §3.6 “too many recipients”.
    **dict.fromkeys(("5.4.5", "5.5.3", "5.7.28"), Meaning.RATE),
    # RFC 4954 §6. Not 5.7.9, which Yahoo uses “for policy reasons”.
    **dict.fromkeys(("5.7.8", "5.7.11", "5.7.14"), Meaning.LOGIN),
}
_BY_CLASS = {"5.6": Meaning.CONTENT, "5.7": Meaning.POLICY}
# RFC 5321 §4.2.3 “exceeded storage allocation”; RFC 7504 §4 the domain accepts no mail.
_BY_REPLY = {552: Meaning.SIZE, 556: Meaning.NO_HOST}
# RFC 3463 §3.2: bad sender's address.
_SENDER = frozenset({"5.1.7", "5.1.8"})
# Used for recipients and senders.
_OF_BOTH = frozenset({"5.1.0", "5.1.4"})
_OF_SENDER = re.compile(r"\bsender\b|\bfrom:? ?<?@|\bfrom (?:address|domain)\b")
# RFC 7372, RFC 7505 §4.2 (sender's domain) and RFC 8616; 509 and 515 are Microsoft's.
_IDENTITY = re.compile(r"5\.7\.(?:2[0-79]|509|515)")
# Microsoft's “banned sending IP”.
_BANNED = re.compile(r"5\.7\.(?:51[1-3]|6[0-4][0-9])")
# RFC 4954 §6: log in first, or otherwise.
_LOGIN_REPLIES = frozenset({530, 534, 535, 538})
# They contain meaningless words: spam-filter.example.org, full@example.org.
_ADDRESS = re.compile(r"""[^\s<>()\[\]"',;:@]{1,64}@[\w.-]{1,255}""")
_LINK = re.compile(r"\bhttps?: ?//\S{1,500}")
_NAME = re.compile(r"(?<![\w.-])(?:[\w-]{1,63}\.){2,10}[a-z][\w-]{1,62}(?![\w-])")


def meaning(words: str, *, code: int = 0, status: str = "") -> Meaning:
    """`code`: reply (550) if known; `status`: enhanced code besides the words."""
    words = words[:MOST_SERVER_WORDS]
    line = " ".join(words.lower().replace("’", "'").split())
    bare = " ".join(_NAME.sub("", _LINK.sub("", _ADDRESS.sub("@", line))).replace("_", " ").split())
    if sure := _first(SURE, bare):
        return sure
    if LISTS.search(words):
        return Meaning.BLOCKED
    enhanced = precise(status, words)
    if _is_for_now(code, enhanced, words):
        return {"4.2.2": Meaning.FULL, "4.7.28": Meaning.RATE}.get(enhanced, Meaning.AWAY)
    said = _by_plain_code(code, enhanced, bare) or _first(LIKELY, bare)
    if enhanced:
        said = said or _BY_STATUS.get(enhanced) or _BY_CLASS.get(enhanced[:3])
    else:
        said = said or _BY_REPLY.get(code)
    return said or _first(VAGUE, bare) or Meaning.UNCLEAR


def precise(status: str, words: str) -> str:
    """Return the most specific enhanced code (RFC 3463): the server's in its words, else the status."""
    quotes = [match.end() for match in _QUOTED.finditer(words)]
    for start in (*reversed(quotes[-3:]), 0):
        codes = [str(code) for code in _CODE.findall(words[start:])]
        # The first specific one that agrees with the first on permanence.
        for code in codes:
            if code[0] == codes[0][0] and not _EMPTY.fullmatch(code):
                return code
    match = _CODE.match(status.strip())
    told = match[1] if match else ""
    said = _CODE.search(words)
    return told if said is None or (told and not told.endswith(".0.0")) else said[1]


def _first(table: Table, bare: str) -> Meaning | None:
    return next((said for said, words in table if _compiled(words).search(bare)), None)


@cache
def _compiled(words: str) -> re.Pattern[str]:
    """Compiling all takes too long for the start of each process."""
    return re.compile(words)


def _is_for_now(code: int, enhanced: str, words: str) -> bool:
    """Return whether the server would be asked again (4xx)."""
    if code:
        return 400 <= code < 500 and code != GIVEN_UP
    if enhanced and not enhanced.endswith(".0.0"):
        return enhanced.startswith("4.")
    replies = _REPLY.findall(words)
    return (
        all(reply.startswith("4") and reply != str(GIVEN_UP) for reply in replies)
        if replies
        else enhanced.startswith("4.")
    )


def _by_plain_code(code: int, enhanced: str, bare: str) -> Meaning | None:
    """Return the meaning of codes as clear as words."""
    if code in _LOGIN_REPLIES:
        return Meaning.LOGIN
    if enhanced in _SENDER or (enhanced in _OF_BOTH and _OF_SENDER.search(bare)):
        return Meaning.SENDER
    if _IDENTITY.fullmatch(enhanced):
        return Meaning.IDENTITY
    if _BANNED.fullmatch(enhanced):
        return Meaning.BLOCKED
    # Exchange Online's answer for unknown addresses (directory-based edge blocking).
    return Meaning.NO_ADDRESS if enhanced == "5.4.1" and "access denied" in bare else None
