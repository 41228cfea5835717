"""Mails after a sign-up. The page says the same in all cases."""

import unicodedata
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from enum import Enum

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
