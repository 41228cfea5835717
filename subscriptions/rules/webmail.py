"""Where people read their mail on the web, by the domain of their address."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Webmail:
    name: str
    url: str


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
_BY_DOMAIN = {domain: Webmail(name, url) for name, url, domains in _PLACES for domain in domains.split()}


def webmail_of(address: str) -> Webmail | None:
    """The place, for the few providers that most people are with."""
    return _BY_DOMAIN.get(address.rpartition("@")[2].strip(" >").lower())
