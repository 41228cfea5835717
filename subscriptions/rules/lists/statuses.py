"""Words for a subscriber's status, in several languages."""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from common.text import words

LIST_STATUSES = ("confirmed", "unconfirmed", "unsubscribed", "suppressed")
OURS = "Feedletter"
LISTMONK = (
    "listmonk’s file does not say who left a list: “enabled” people count as what you say of lines without a"
    " status. Import those who left first, as “unsubscribed”."
)
GETS_NOTHING = ("unconfirmed", "unsubscribed", "suppressed")
# The strictest counts.
_RANKS = {"": 0, "confirmed": 1, "unconfirmed": 2, "unsubscribed": 4, "suppressed": 5}
_RANK_OF_OTHERS = 3
YES = words(
    "yes y true t on x ok checked ja j wahr ein oui o vrai si s sim verdadero verdadeiro vero "
    "waar aan tak da да ✓ ✔ ☑ ✅ √"
)
NO = words(
    "no n false f off unchecked none never nein falsch aus keine keiner non faux aucun aucune "
    "falso ninguno ninguna nao nenhum nenhuma nee niet onwaar geen nej nie нет ✗ ✘ ☐ ❌"
)
EMPTY = ("nothing", "no", "zero")
_DIGITS = {"0": "zero", "1": "one"}
_NOTHING = frozenset(("", "null", "nil", "n a", "na", "nan", "undefined", "empty", "leer", "vide"))
STATUS_WORDS: Mapping[str, str] = {
    **{status: status for status in LIST_STATUSES},
    **dict.fromkeys(("subscribed", "active", "enabled", "regular", "premium", "free"), "confirmed"),
    **dict.fromkeys(("trialed", "unpaid", "gifted", "churning", "past due", "paused"), "confirmed"),
    **dict.fromkeys(("subscriber", "currently subscribed", "verified", "express", "explicit"), "confirmed"),
    **dict.fromkeys(("opt in", "optin", "opted in", "optedin", "double opt in", "doi"), "confirmed"),
    **dict.fromkeys(("granted", "given", "accepted", "agreed"), "confirmed"),
    **dict.fromkeys(("abonniert", "angemeldet", "bestatigt", "bestaetigt", "aktiv"), "confirmed"),
    **dict.fromkeys(("confirmee", "erteilt", "verifiziert", "aktiviert", "eingetragen"), "confirmed"),
    **dict.fromkeys(("abonne", "abonnee", "inscrit", "inscrite", "confirme", "actif"), "confirmed"),
    **dict.fromkeys(("suscrito", "suscrita", "inscrito", "inscrita", "activo", "activa"), "confirmed"),
    **dict.fromkeys(("confirmado", "confirmada", "assinante", "subscrito", "subscrita"), "confirmed"),
    **dict.fromkeys(("ativo", "ativa", "iscritto", "iscritta", "confermato", "attivo"), "confirmed"),
    **dict.fromkeys(("geabonneerd", "ingeschreven", "bevestigd", "actief"), "confirmed"),
    # Consent is uncertain, so the admin's default applies.
    "implied": "",
    **dict.fromkeys(("validating", "inactive", "invited", "not set"), "unconfirmed"),
    **dict.fromkeys(("left", "cancelled", "disabled", "removed", "archived", "deleted"), "unsubscribed"),
    **dict.fromkeys(("declined", "denied", "refused"), "unsubscribed"),
    **dict.fromkeys(("cleaned", "blocklisted", "spammy", "undeliverable", "invalid"), "suppressed"),
}
# Patterns for `plain` text.
_SUPPRESSED = (
    r"bounc(?:e|es|ed|ing)|(?:hard|soft)bounc\w*|complain\w*|spam\w*|abus(?:e|ive)|block(?:ed|ing)"
    r"|block ?list\w*"
    r"|black ?list\w*|banned|bannie?s?|cleaned|suppress\w*|(?:un|non|not) ?deliver\w*|quarantin\w*"
    r"|donot\w*|(?:do not|don t|dont|never) (?:e ?mail|mail|contact|send|write|solicit|disturb|market)\w*"
    r"|gesperrt\w*|sperrliste|blockiert\w*|schwarze liste|unzustellbar\w*|nicht zustellbar\w*|gebounc\w*"
    r"|zuru?e?ckgewiesen\w*|beschwerde\w*|bereinigt\w*"
    r"|rebond\w*|bloqu\w*|plainte\w*|liste noire|indesirable\w*|(?:non|pas) delivr\w*|nettoye\w*"
    r"|rebot(?:e|es|ad\w*|o)|lista (?:negra|nera)|quejas?|denunciad\w*|(?:no|nao) entreg\w*|devolvid\w*"
    r"|reclam\w*|banid\w*|banead\w*|suprimid\w*|rimbalz\w*|bloccat\w*|soppress\w*"
    r"|geblokk\w*|klacht\w*|onbestelbaar|zwarte lijst|studsa\w*|blokk?er\w*|zablok\w*|заблок\w*|жалоб\w*"
)
_UNSUBSCRIBED = (
    r"un ?subscri\w*|unsub(?:s|bed)?|opt(?:ed|s|ing|ion)? ?outs?|de ?register\w*|un ?register\w*"
    r"|withdr[ae]w\w*|revok\w*|consent refus\w*|objected|objection"
    r"|(?:not|never|non|no longer|no) ?(?:a |an |currently |yet )?(?:subscri|opted ?in|opt ?in|consent)\w*"
    r"|(?:non|not) ?marketing\w*"
    r"|abgemeld\w*|abmeld\w*|abbestell\w*|ausgetragen\w*|ausgetreten\w*|widerruf\w*|wider(?:sproch|spruch)\w*"
    r"|geku?e?ndigt\w*|ku?e?ndigung\w*|nicht (?:mehr )?(?:abonn|angemeld|eingetrag|eingeschr|einverst)\w*"
    r"|keine? (?:einwillig|zustimm|newsletter|e ?mail|mail|werbung)\w*"
    r"|desabon\w*|desins?cri\w*|non (?:abonn|inscri|consen|iscri)\w*|resiliee?s?"
    r"|des+u?b?scri\w*|de ?suscri\w*|de baja|bajas"
    r"|(?:no|nao) (?:suscri|inscri|subscri|consen|acept|aceit|assin)\w*"
    r"|descadastr\w*|saiu da lista|disiscri\w*|revoca[dt]\w*|revogad\w*|revoque\w*"
    r"|uitgeschrev\w*|uitschrij\w*|afgemeld\w*|afmeld\w*|opgezegd|niet (?:ingeschr|geabonn|akkoord)\w*"
    r"|geen toestemm\w*|avmeld\w*|avregistr\w*|avprenum\w*|dezabon\w*|wypis\w*|odhlas\w*|leiratkoz\w*"
    r"|отпис\w*"
)
_UNCONFIRMED = (
    r"un ?confirm\w*|un ?verif\w*|un ?activat\w*|un ?validat\w*|pending\w*|await\w*"
    r"|waiting (?:for|to)|on hold|temp(?:orary)? hold|no permissions?|no consent given"
    r"|(?:not|never|non|no|nao|pas|niet|nicht)(?: (?:yet|encore|noch) | ?)"
    r"(?:confirm|conferm|verif|activ|actif|aktiv|ativ|attiv|valid|bestat|bestaet|bevest|geverif|geactiv|actief)\w*"
    r"|unbesta?e?tig\w*|unverif\w*|ausstehend\w*|wartet|wartend\w*"
    r"|en attente|a confirmer|pendient\w*|pendent\w*|(?:sin|por|a|sem) confirmar|en espera|aguard\w*"
    r"|in attesa|da confermare|onbevestig\w*|in afwachting|niepotwierdz\w*|oczekuj\w*|неподтвер\w*"
)
# Common words count only in short cells.
_WEAK_SUPPRESSED = (
    r"invalid\w*|ungu?e?ltig\w*|reject\w*|rejet\w*|rejeit\w*|rechaz\w*|abgewiesen|limpiad\w*"
    r"|(?:does not|non|not) ?exist\w*"
)
_WEAK_UNSUBSCRIBED = (
    r"left|quit|removed?|deleted?|cancel(?:l?ed|led)|deactivated|disabled|archived|declined|denied|refused"
    r"|expired|stopped|baja(?! california)|gelo?e?scht|entfernt|storniert|deaktiviert|abgelehnt"
    r"|abgelaufen|austritt|supprimee?|retiree?|annulee?|desactiv\w*|refusee?|eliminad\w*|cancelad\w*|cancelo|cancelou|retirad\w*"
    r"|removid\w*|excluid\w*|desativ\w*|recusad\w*|cancellat\w*|rimoss\w*|disattiv\w*|rifiutat\w*"
    r"|verwijderd|geannuleerd|gedeactiveerd|geweigerd"
)
_WEAK_UNCONFIRMED = r"inactiv\w*|inaktiv\w*|inactif\w*|inativ\w*|inattiv\w*|inactief|invited|dormant|not set"
_MOST_WORDS_OF_WEAK = 4
_NO_WORD = re.compile(r"[\W_]+")
_ZEROS = re.compile(r"0[0 ]*0")
_MONTH = r"[^\W\d]{3,10}"
# Days, months and years with a sign or a month's name between them, Unix times, or a year alone.
_DAY = re.compile(
    r"(?<![\d.])\d{1,2}[./-] ?\d{1,2}[./-] ?(?:\d\d)?\d\d(?![\d.])"
    r"|\b(?:19|20)\d\d(?:[./年-] ?\d{1,2}|\d{4}(?:T|\b))|\b\d{1,2}[./-](?:19|20)\d\d\b"
    rf"|\d{{1,2}}(?:st|nd|rd|th)?[ .,/-]+(?:de )?{_MONTH}[ .,/-]+(?:de )?(?:19|20)?\d\d\b"
    rf"|{_MONTH}\.? \d{{1,2}},? (?:19|20)\d\d|^(?:(?:19|20)\d\d|\d{{10}}(?:\d{{3}})?)$"
)
_LONGEST_DAY = 60


def _searching(suppressed: str, unsubscribed: str, unconfirmed: str) -> list[tuple[str, re.Pattern[str]]]:
    words = {"suppressed": suppressed, "unsubscribed": unsubscribed, "unconfirmed": unconfirmed}
    return [(status, re.compile(rf"\b(?:{pattern})\b")) for status, pattern in words.items()]


_STRONG = _searching(_SUPPRESSED, _UNSUBSCRIBED, _UNCONFIRMED)
_WEAK = _searching(_WEAK_SUPPRESSED, _WEAK_UNSUBSCRIBED, _WEAK_UNCONFIRMED)


def rank(status: str) -> int:
    """An unknown word ranks above unconfirmed: its line is refused."""
    return _RANKS.get(status, _RANK_OF_OTHERS)


def strictest(*statuses: str) -> str:
    return max(statuses, key=rank)


def plain(text: str) -> str:
    """Return lower case without accents and signs, with single spaces."""
    if not text.isascii():
        text = without_accents(text)
    return _NO_WORD.sub(" ", text.casefold()).strip()


def without_accents(text: str) -> str:
    """Return NFKD without accents and zero-width characters."""
    parts = unicodedata.normalize("NFKD", text)
    return "".join(each for each in parts if unicodedata.category(each) not in ("Mn", "Cf"))


@lru_cache(maxsize=4096)
def leaving_word(text: str) -> str:
    """Return the status of a cell that means no mail, or ""."""
    words = plain(text)
    is_short = words.count(" ") < _MOST_WORDS_OF_WEAK
    for status, pattern in _STRONG + _WEAK if is_short else _STRONG:
        if pattern.search(words):
            return status
    return ""


@lru_cache(maxsize=4096)
def status_of_words(text: str) -> str | None:
    """Return "" for an empty cell, or None for unknown words."""
    words = plain(text)
    known = STATUS_WORDS.get(words)
    if known is not None:
        return known
    return leaving_word(text) or (None if words else "")


@lru_cache(maxsize=4096)
def sort_of(text: str) -> str:
    """Return a status, or one of “nothing yes no one zero day code other”. Codes have one character."""
    bare = text.strip().casefold()
    if bare in _DIGITS:
        return _DIGITS[bare]
    words = plain(text)
    if bare in YES or words in YES:
        return "yes"
    if bare in NO or words in NO:
        return "no"
    if words in _NOTHING or _ZEROS.fullmatch(words):
        return "nothing"
    if status := status_of_words(text):
        return status
    if words in STATUS_WORDS:
        return "confirmed"
    if is_day(bare):
        return "day"
    return "code" if len(words) == 1 else "other"


def is_day(text: str) -> bool:
    return len(text) <= _LONGEST_DAY and bool(_DAY.search(text))


@dataclass(frozen=True, slots=True)
class Program:
    """No program's file confirms anybody: lines without a status get the admin's.

    `ignored`: columns that say nothing about who gets emails. `dates`: “dmy” or “mdy”. `note`: missing data.
    """

    name: str
    signs: frozenset[str] = frozenset()
    aliases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    status_words: Mapping[str, str] = field(default_factory=dict)
    ignored: frozenset[str] = frozenset()
    dates: str = ""
    note: str = ""


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split("; "))


# The first match counts.
PROGRAMS = (
    Program(OURS, frozenset(("status", "consent how", "consent words", "tags"))),
    Program(
        "MailPoet",
        frozenset(("list status", "global status")),
        {
            "status": ("list status", "global status"),
            "added": ("subscription time", "subscribed at"),
            "confirmed": ("confirmation time", "confirmed at"),
        },
    ),
    Program(
        "Mailchimp",
        frozenset(("optin time", "confirm time")),
        ignored=_names("optin ip; cc; leid; euid; gmtoff; dstoff; last changed"),
    ),
    Program(
        "Substack",
        frozenset(("active subscription", "expiry")),
        # They are about paid subscriptions and about what somebody did with emails.
        ignored=_names(
            "active subscription; expiry; plan; first payment at; paid upgrade date; subscription type;"
            " emails received; emails dropped; emails opened; links clicked; last email open; activity"
        ),
    ),
    Program(
        "Ghost",
        frozenset(("subscribed to emails", "created at")),
        {"unsubscribed": ("deleted at",)},
        ignored=_names("complimentary plan; stripe customer id; tiers"),
    ),
    Program(
        "Buttondown",
        frozenset(("creation date", "metadata")),
        {
            "status": ("type", "subscriber type"),
            "left": ("unsubscription date",),
            "bounced": ("undeliverability date",),
        },
        ignored=_names("unsubscription reason; undeliverability reason"),
    ),
    Program(
        "beehiiv",
        frozenset(("tier", "created at", "status")),
        status_words={"inactive": "unsubscribed", "needs_attention": "unconfirmed"},
        ignored=_names("tier"),
    ),
    Program(
        "listmonk", frozenset(("uuid", "attributes", "status")), status_words={"enabled": ""}, note=LISTMONK
    ),
    Program(
        "Brevo",
        frozenset(("email blacklisted",)),
        {"unsubscribed": ("email blacklisted",), "added": ("added time",)},
        ignored=_names("sms blacklisted; whatsapp blacklisted"),
        dates="dmy",
    ),
    Program(
        "phpList",
        frozenset(("is this subscriber confirmed",)),
        {
            "confirms": ("is this subscriber confirmed",),
            "suppressed": ("is this subscriber blacklisted", "blacklisted"),
            "unsubscribed": ("is this account disabled?",),
            "added": ("entered",),
        },
        ignored=_names(
            "number of bounces; number of bounces on this subscriber; send this subscriber html "
            "emails; did this subscriber manually confirm; which page was used to subscribe; list "
            "membership; foreign key"
        ),
    ),
    Program(
        "MailerLite",
        frozenset(("subscriber", "subscribed", "groups")),
        {"email": ("subscriber",), "added": ("subscribed",), "tags": ("groups",), "left": ("unsubscribed",)},
        ignored=_names("opt in date; opt in ip; state"),
    ),
    Program(
        "Mailman",
        frozenset(("email", "display name", "delivery status")),
        {"status": ("delivery status",)},
        status_words={
            "enabled": "",
            "unknown": "",
            "by_user": "unsubscribed",
            "by_bounces": "suppressed",
            "by_moderator": "unsubscribed",
        },
        ignored=_names("delivery mode; role; preferred language"),
    ),
    Program("FeedBurner", frozenset(("subscribed", "status")), {"added": ("subscribed",)}, dates="mdy"),
)
NO_PROGRAM = Program("")
