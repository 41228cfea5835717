"""Judges whether columns may be ignored in an import."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from common.text import words
from subscriptions.rules.lists.statuses import leaving_word, plain
from subscriptions.rules.lists.survey import ColumnSurvey

STATUSES = frozenset(("confirmed", "unconfirmed", "unsubscribed", "suppressed"))
YES_OR_NO = frozenset(("yes", "no", "one", "zero"))
# People who get nothing.
_REFUSES = re.compile(
    r"bl(?:a|o)c?k ?list|block(?:ed|list)|unsub|opt(?:ed)? ?out|bounce|delet|suppress|complain|spam|banned"
    r"|undeliver|disabled|removed|cleaned|do not|desabonn|desinscri|abgemeldet|gesperrt|baja"
)
_DENIES = re.compile(r"\b(?:no(?!$)|not|never|without|nicht|keine?|sans|sin|sem|nao|senza|geen|niet)\b")
_STATUS = re.compile(r"\b(?:status|state|statut|estado|stato|situac\w*|zustand|etat|staat)\b")
# People who subscribed, agreed, or get mail.
_WANTS = re.compile(
    r"\b(?:subscri|abo\b|abonn|inscri|suscri|iscri|assina|registr|register|angemeld|anmeld|eingetrag"
    r"|consen|conset|einwillig|zustimm|einverst|permis|erlaub|toestemm|akkoord|agree|accord"
    r"|accept|accett|accepte|acept|aceit|autoris|autoriz|allow|opt ?in|opted ?in|doi\b|gdpr|dsgvo|rgpd|avg\b"
    r"|activ|aktiv|ativ|attiv|actif|actief|enable|habilit|confirm|conferm|bestat|bestaet|bevest|verif|valid"
    r"|newsletter|boletin|boletim|rundbrief|nieuwsbrief|infolettre|lettre|marketing|mailing|e ?mails?\b"
    r"|werbung|publicid|pubblicit|receiv|erhalt|recoi|recib|receb|riceve|ontvang|deliverab|reachable)"
)
_AGREES = re.compile(r"\b(?:consen|einwillig|zustimm|permis|toestemm|opt ?in|doi\b|activat|aktivier|verif)")
_VERIFIES = re.compile(r"\b(?:confirm|conferm|bestat|bestaet|bevest|verif|valid|double|doi\b)")
_LATELY = re.compile(r"\b(?:last|letzt|dernier|ultim|laatst|recent|number|count|anzahl|nombre|numero|aantal)")
# A heading of only these words is about this mail, not, say, text messages.
_CLEAR = words(
    "is has are gives to the by for of in on e mail mails email emails newsletter newsletters marketing opt"
    " optin opted subscribe subscribed subscribes subscription subscriptions subscriber active activated"
    " enabled double consent consents permission permissions accept accepts accepted agreed agrees confirmed"
    " verified status state global list contact member user current receive receives"
    " abo abonniert abonnent angemeldet aktiv aktiviert einwilligung zustimmung zustand bestatigt bestaetigt"
    " statut etat abonne abonnee abonnement inscrit inscrite inscription actif consentement accepte liste la"
    " de l a lettre infolettre confirme"
    " estado suscrito suscrita suscripcion suscriptor activo activa consentimiento acepta acepto boletin"
    " inscrito inscrita assinante assinatura ativo ativa consentimento aceita aceito boletim confirmado"
    " stato iscritto iscritta attivo consenso accetta ingeschreven geabonneerd actief toestemming akkoord"
    " nieuwsbrief bevestigd"
)


@dataclass(frozen=True, slots=True)
class Judgement:
    """`meaning` is only advice if `must_ask`. `rows`: lines concerned."""

    meaning: str
    rows: int = 0
    example: str = ""
    must_ask: bool = True


def refuses(name: str) -> bool:
    said = plain(name)
    is_denied = _DENIES.search(said) and (_WANTS.search(said) or _STATUS.search(said))
    return bool(_REFUSES.search(said) or is_denied or leaving_word(name))


def judge(name: str, column: ColumnSurvey | None) -> Judgement | None:
    """Return None for a column that may be ignored."""
    if column is None:
        return Judgement("suppressed") if refuses(name) else None
    if refuses(name):
        rows = max(column.filled, column.leaving)
        return Judgement("suppressed", rows, column.example) if rows else None
    said = plain(name)
    return _by_itself(said, column) or _asked(said, column)


def _by_itself(said: str, column: ColumnSurvey) -> Judgement | None:
    kinds = column.kinds
    if column.is_text or not kinds or not _CLEAR.issuperset(said.split()):
        return None
    if _STATUS.search(said) and kinds <= STATUSES:
        return Judgement("status", column.leaving, column.example, must_ask=False)
    is_whole = kinds <= STATUSES | YES_OR_NO and not column.sorts["nothing"]
    says_no = kinds - {"yes", "one", "confirmed"}
    if is_whole and says_no and _WANTS.search(said) and not _STATUS.search(said):
        meaning = "verified" if _VERIFIES.search(said) else "subscribed"
        return Judgement(meaning, _negative(column.sorts), column.example, must_ask=False)
    return None


def _asked(said: str, column: ColumnSurvey) -> Judgement | None:
    if column.leaving:
        is_status = not column.is_text and column.kinds <= STATUSES
        return Judgement("status" if is_status else "unsubscribed", column.leaving, column.example)
    is_status = bool(_STATUS.search(said))
    if column.is_text or not (is_status or _WANTS.search(said)):
        return None
    kinds, sorts = column.kinds, column.sorts
    is_number = "zero" in kinds and kinds & {"code", "other"}
    noes = sorts["no"] + (0 if is_number else sorts["zero"])
    if noes and not (kinds & {"day"} and not sorts["no"]):
        return Judgement("subscribed", noes + sorts["nothing"])
    if sorts["nothing"] and kinds and kinds <= YES_OR_NO:
        return Judgement("subscribed", sorts["nothing"])
    if is_status and kinds and kinds <= {"code", "one", "zero"} and kinds != {"one"}:
        return Judgement("status", column.filled + sorts["zero"])
    is_date_of_yes = "day" in kinds and kinds <= {"day", "zero"} and _AGREES.search(said)
    if is_date_of_yes and not _LATELY.search(said) and sorts["nothing"] + sorts["zero"]:
        return Judgement("subscribed", sorts["nothing"] + sorts["zero"])
    return None


def _negative(sorts: Mapping[str, int]) -> int:
    return sum(sorts.get(sort, 0) for sort in ("no", "zero", "unconfirmed", "unsubscribed", "suppressed"))
