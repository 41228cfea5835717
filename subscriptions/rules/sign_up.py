"""Mails after a sign-up. The page says the same in all cases.

Proofs in links of feedletter 0.2.5, whose letters are still in mailboxes.

Proof of work for browsers, which takes about a second.

SHA-256 of challenge, part and number must begin with BITS zero bits. Eight easy parts vary less in time than
one hard part.
"""

import hashlib
import hmac
import re
import unicodedata
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from enum import Enum, StrEnum
from hashlib import sha256
from itertools import count

PROVIDERS: Mapping[str, tuple[str, ...]] = {
    "gmail": ("com",),
    "googlemail": ("com",),
    "outlook": ("com", "de", "fr", "es"),
    "hotmail": ("com", "de", "fr", "es", "it", "co.uk"),
    "yahoo": ("com", "de", "fr", "es", "it", "co.uk", "com.br"),
    "icloud": ("com",),
    "proton": ("me",),
    "protonmail": ("com",),
    "fastmail": ("com",),
    "posteo": ("de",),
    "mailbox": ("org",),
    "t-online": ("de",),
    "orange": ("fr",),
    "wanadoo": ("fr",),
    "laposte": ("net",),
    "libero": ("it",),
}
# Real domains that look like typos.
REAL = frozenset(("mail", "email", "ymail", "hmail", "qmail", "fmail", "zmail", "vmail", "tmail"))
SLIPS_OF_COM = frozenset(
    ("con", "cmo", "ocm", "comm", "coom", "ccom", "cim", "vom", "xom", "cpm", "cm", "om", "co")
)
_DOMAIN = re.compile(r"([a-z0-9-]+)\.([a-z.]+)")
PARTS = 8
BITS = 12
LONGEST_NUMBER = 12
# Upstream's ids are signed 64-bit integers.
LARGEST_ID = 2**63 - 1
# Here the numbers of a further database have its place as their upper bits, so that no two collide.
NUMBERS_EACH = 2**48
AT_MOST_EVERY = timedelta(minutes=5)
A_DAY = timedelta(days=1)
AT_MOST_A_DAY = 5
LONGEST_NAME = 100
LONGEST_LANGUAGE = 35
# Fits into one mail and its link.
MOST_CHOSEN_AT_ONCE = 20
_PLACES = (
    ("Gmail", "https://mail.google.com/", "gmail.com googlemail.com"),
    (
        "Outlook",
        "https://outlook.live.com/mail/",
        "outlook.com hotmail.com live.com msn.com outlook.de outlook.fr outlook.es hotmail.de hotmail.fr"
        " hotmail.es hotmail.it hotmail.co.uk live.de live.fr live.co.uk",
    ),
    (
        "Yahoo Mail",
        "https://mail.yahoo.com/",
        "yahoo.com yahoo.de yahoo.fr yahoo.es yahoo.it yahoo.co.uk yahoo.com.br ymail.com rocketmail.com",
    ),
    ("iCloud Mail", "https://www.icloud.com/mail/", "icloud.com me.com mac.com"),
    ("Proton Mail", "https://mail.proton.me/", "proton.me protonmail.com protonmail.ch pm.me"),
    ("GMX", "https://www.gmx.net/", "gmx.de gmx.net gmx.at gmx.ch"),
    ("GMX", "https://www.gmx.com/", "gmx.com gmx.us"),
    ("WEB.DE", "https://web.de/", "web.de"),
    ("T-Online", "https://email.t-online.de/", "t-online.de magenta.de"),
    ("mailbox.org", "https://login.mailbox.org/", "mailbox.org"),
    ("Posteo", "https://posteo.de/", "posteo.de posteo.net"),
    ("Fastmail", "https://app.fastmail.com/mail/", "fastmail.com fastmail.fm"),
    ("Orange", "https://messagerie.orange.fr/", "orange.fr wanadoo.fr"),
    ("La Poste", "https://www.laposte.net/accueil", "laposte.net"),
    ("Libero", "https://mail.libero.it/", "libero.it"),
    ("UOL", "https://email.uol.com.br/", "uol.com.br bol.com.br"),
)
_BY_DOMAIN = {
    domain: {"name": name, "url": url} for name, url, domains in _PLACES for domain in domains.split()
}


class SignUpReply(Enum):
    CONFIRM = "confirmation"
    ALREADY = "already"
    NOTHING = ""


def answer(status: str, *, earlier: Iterable[datetime], now: datetime) -> SignUpReply:
    """Return the mail to send. `earlier`: times of earlier mails."""
    if not may_write(earlier=earlier, now=now):
        return SignUpReply.NOTHING
    return SignUpReply.ALREADY if status == "confirmed" else SignUpReply.CONFIRM


def may_write(*, earlier: Iterable[datetime], now: datetime) -> bool:
    """Allow one mail in five minutes and five a day, against mail floods."""
    recent = [moment for moment in earlier if now - moment < A_DAY]
    return len(recent) < AT_MOST_A_DAY and all(now - moment >= AT_MOST_EVERY for moment in recent)


def remembered(seconds: Iterable[float] | None) -> list[datetime]:
    return [datetime.fromtimestamp(second, UTC) for second in seconds or ()]


def noted(seconds: Iterable[float] | None, now: datetime) -> list[float]:
    """Return recent moments and `now`, as Unix seconds."""
    return [second for second in seconds or () if second > (now - A_DAY).timestamp()] + [now.timestamp()]


def tidy_name(name: str) -> str:
    """Return a single line without control characters, at most 100 long."""
    visible = (" " if unicodedata.category(char)[0] in "CZ" else char for char in name[: LONGEST_NAME * 10])
    return " ".join("".join(visible).split())[:LONGEST_NAME].rstrip()


def webmail_of(address: str) -> dict[str, str] | None:
    return _BY_DOMAIN.get(address.rpartition("@")[2].strip(" >").lower())


class Suffix(StrEnum):
    CONFIRM = "ConfirmSuffix"
    REMOVE = "RemoveSuffix"


def invitation(subscription_id: int, *, salt: str, suffix: Suffix) -> str:
    """Return SHA3-256 over id (8 octets, big-endian), salt and suffix, in hex."""
    octets = subscription_id.to_bytes(8, "big", signed=True)
    return hashlib.sha3_256(octets + salt.encode() + suffix.encode()).hexdigest()


def number_here(number: int, place: int) -> int:
    """Return the number as stored, 0 if it cannot be. `place` is the database's, 0 for the first."""
    if place and not 0 < number < NUMBERS_EACH:
        return 0
    return number + place * NUMBERS_EACH


def numbers_of(place: int) -> tuple[int, int]:
    """Return the first and the last number here of a database."""
    return place * NUMBERS_EACH, (place + 1) * NUMBERS_EACH - 1


def is_invited(subscription_id: int, given: str, *, salt: str, suffix: Suffix) -> bool:
    """Check it in constant time. False without a salt."""
    if not salt or not given.isascii():
        return False
    return hmac.compare_digest(invitation(subscription_id, salt=salt, suffix=suffix), given.lower())


def is_solution(challenge: str, numbers: str) -> bool:
    parts = numbers.split(",", PARTS)
    return len(parts) == PARTS and all(_fits(challenge, part, number) for part, number in enumerate(parts))


def _fits(challenge: str, part: int, number: str) -> bool:
    if not (number.isascii() and number.isdecimal()) or len(number) > LONGEST_NUMBER:
        return False
    digest = sha256(f"{challenge}:{part}:{number}".encode()).digest()
    return int.from_bytes(digest[:4]) >> (32 - BITS) == 0


def solve(challenge: str) -> str:
    numbers = (next(n for n in map(str, count()) if _fits(challenge, part, n)) for part in range(PARTS))
    return ",".join(numbers)


def meant(address: str) -> str:
    name, at, domain = address.strip().rpartition("@")
    match = _DOMAIN.fullmatch(domain.lower().rstrip("."))
    if not at or not name or match is None or match[1] in REAL:
        return ""
    provider, rest = match[1], match[2]
    tidy = "com" if rest in SLIPS_OF_COM else rest
    if provider in PROVIDERS:
        is_slip = tidy != rest and "com" in PROVIDERS[provider]
        return f"{name}@{provider}.com" if is_slip else ""
    near = [each for each, rests in PROVIDERS.items() if tidy in rests and is_one_slip(provider, each)]
    return f"{name}@{near[0]}.{tidy}" if len(near) == 1 else ""


def is_one_slip(typed: str, word: str) -> bool:
    """Return whether one letter is missing, extra or wrong, or two are swapped."""
    if typed == word or abs(len(typed) - len(word)) > 1:
        return False
    start = next(
        (at for at, (one, other) in enumerate(zip(typed, word, strict=False)) if one != other),
        min(len(typed), len(word)),
    )
    left, right = typed[start:], word[start:]
    swapped = left[1::-1] + left[2:] if len(left) > 1 else left
    return left[1:] == right[1:] or left[1:] == right or left == right[1:] or swapped == right
