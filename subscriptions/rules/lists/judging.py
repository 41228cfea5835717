"""Which columns an admin must explain before a list is imported, and a proposal for each.

A column that isn't known to be harmless is asked about if it may tell some people from others: if it has few
different values, or a date or mark in some lines only, or words or a heading of leaving.
"""

import re
from dataclasses import dataclass

from common.text import words
from subscriptions.rules.lists.statuses import EMPTY, leaving_word, plain
from subscriptions.rules.lists.survey import NOTES, WANTS, ColumnSurvey

IGNORED = "ignore"
STATUSES = frozenset(("confirmed", "unconfirmed", "unsubscribed", "suppressed"))
YES_OR_NO = frozenset(("yes", "no", "one", "zero"))
# The columns in which every line may have one of a few values that say nothing about emails.
_HARMLESS = words(
    "name names nombre nombres prenom vorname nachname nom cognome nome sobrenome apellido apellidos naam"
    " firstname lastname fullname surname salutation anrede civilite trattamento aanhef prefix suffix gender"
    " geschlecht sexe genre sexo sesso geslacht age alter birthday birthdate birth dob geburtstag"
    " geburtsdatum naissance nacimiento nascimento compleanno anniversaire company organisation organization"
    " firma entreprise societe empresa azienda bedrijf department abteilung job title position beruf role"
    " occupation industry branche employer school country land pays pais paese city town ort stadt wohnort"
    " ville ciudad cidade citta plaats region province provincia bundesland county address adresse street"
    " strasse rue calle rua via straat house zip zipcode postcode postal postleitzahl plz cp cap latitude"
    " longitude location timezone continent phone telephone telefon telefono telefone mobile handy fax tel"
    " portable celular cellulare website web url homepage domain twitter facebook linkedin instagram source"
    " medium campaign referrer referer utm landing device browser agent ip id uuid guid hash euid leid rating"
    " stars score points spent orders revenue visits opens clicks opened clicked"
)
_BESIDE_HARMLESS = words(
    "first last given middle family full your the of and for e m mail email date time number no nr code"
    " type line 1 2 3 s de du d des la le del der die das da do di ad ads geo member user contact customer"
    " subscriber total count rate average avg order content term page two postal state private business"
    " work home received sent unique"
)
# People who get nothing.
_REFUSES = re.compile(
    r"bl(?:a|o)c?k ?list|block(?:ed|list)|unsub|opt(?:ed)? ?out|bounce|delet|suppress|complain|spam|banned"
    r"|undeliver|disabled|removed|cleaned|do not|desabonn|desinscri|abgemeldet|gesperrt|baja"
)
_DENIES = re.compile(r"\b(?:no(?!$)|not|never|without|nicht|keine?|sans|sin|sem|nao|senza|geen|niet)\b")
_STATUS = re.compile(r"\b(?:status|state|statut|estado|stato|situac\w*|zustand|etat|staat)\b")
# People who subscribed, agreed, or get mail.
_WANTS = re.compile(
    r"\b(?:subscri|abo\b|abonn|inscri|suscri|iscri|assina|regist|angemeld|anmeld|eingetrag|consen|conset"
    r"|einwillig|zustimm|einverst|permis|erlaub|toestemm|akkoord|agree|accord|accept|accett|accepte|acept|aceit"
    r"|autori[sz]|allow|opt(?:ed)? ?in|doi\b|gdpr|dsgvo|rgpd|activ|aktiv|ativ|attiv|actif|actief|enable"
    r"|confirm|conferm|bestat|bestaet|bevest|verif|valid|newsletter|marketing|e ?mails?\b|receiv)"
)
_VERIFIES = re.compile(r"\b(?:confirm|conferm|bestat|bestaet|bevest|verif|valid|double|doi\b)")
# Consent to something else.
_ELSEWHERE = re.compile(r"\b(?:sms|text messages?|whatsapp|telegram|push|track\w*|post)\b")
# A proposal by which more leave, of more than a few, is no proposal.
_FEW = 5


@dataclass(frozen=True, slots=True)
class Judgement:
    """`proposal`: a meaning, or "". `must_ask`: nobody has said what the column means.

    `words`: unknown words of a status column.
    """

    name: str
    proposal: str
    column: ColumnSurvey
    must_ask: bool = True
    words: tuple[str, ...] = ()

    @property
    def rows(self) -> int:
        return self.column.leaving or (self.column.filled if refuses(self.name) else 0)


def refuses(name: str) -> bool:
    text = plain(name)
    is_denied = _DENIES.search(text) and (_WANTS.search(text) or _STATUS.search(text))
    return bool(_REFUSES.search(text) or is_denied or leaving_word(name))


def is_harmless(name: str) -> bool:
    parts = set(plain(name).split())
    return bool(parts & _HARMLESS) and parts <= _HARMLESS | _BESIDE_HARMLESS


def may_tell_apart(name: str, column: ColumnSurvey) -> bool:
    """Decide whether the column may mark somebody who would be mailed, and must not be."""
    if column.leaving:
        return True
    if not column.filled and not (column.kinds & {"no", "zero"}):
        return False
    if refuses(name):
        return bool(column.filled)
    if is_harmless(name):
        return False
    if not column.has_more:
        says_yes = column.kinds <= {"yes", "one", "confirmed"} and _WANTS.search(plain(name))
        return bool(column.lines("nothing")) or not (says_yes or column.kinds == {"day"})
    is_marked = column.lines("day", "yes", "one") > column.filled / 2
    return is_marked and bool(column.lines(*EMPTY))


def proposal(name: str, column: ColumnSurvey) -> str:
    """Return a meaning by which nobody stays who left, and not most leave; or ""."""
    meaning = _likely(plain(name), name, column)
    after, before = column.after(meaning), column.after("")
    kept = after["confirmed"] + after["unconfirmed"] + after["unknown"]
    leave = before["confirmed"] + before["unconfirmed"] - kept
    return "" if leave > max(_FEW, kept) else meaning


def _likely(text: str, name: str, column: ColumnSurvey) -> str:
    kinds = column.kinds
    if _ELSEWHERE.search(text) and not refuses(name):
        return IGNORED
    if kinds <= STATUSES:
        return "status"
    if column.leaving:
        is_status = _STATUS.search(text) and column.lines(*STATUSES) * 2 >= column.filled
        return "status" if is_status and not column.has_more else NOTES
    if refuses(name):
        return "suppressed" if leaving_word(name) == "suppressed" else "unsubscribed"
    if not _WANTS.search(text):
        return ""
    if _VERIFIES.search(text) or column.lines("nothing"):
        return WANTS[1]
    return WANTS[0] if kinds <= YES_OR_NO and column.lines("no", "zero") else ""
