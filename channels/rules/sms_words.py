"""Meaning of an answer, and of a message status."""

import re
import unicodedata
from enum import Enum

LONGEST_REPLY = 1_600
# Other words may follow these without another meaning.
_PLAIN = frozenset({"stop", "stopp", "stopall", "unsubscribe"})
_MOST_WORDS = 5
# Never deliverable: unknown, landline, answered STOP.
DISABLING = frozenset({"30005", "30006", "21610"})
CODE_WORDS = {
    "21610": "The recipient answered STOP.",
    "30003": "The phone was off or out of range.",
    "30004": "The phone or its network blocks these messages.",
    "30005": "The number doesn’t exist.",
    "30006": "The number is a landline, or its network can’t be reached.",
    "30007": "The network rejected the message as spam.",
    "30008": "The network gave no reason.",
    "30034": "In the USA the sender must be registered first (A2P 10DLC).",
}


class Wish(Enum):
    STOP = "stop"
    START = "start"
    HELP = "help"


# Twilio knows these and answers them: https://help.twilio.com/articles/223134027
KNOWN_TO_TWILIO = {
    **dict.fromkeys(
        ("stop", "stopall", "unsubscribe", "cancel", "end", "quit", "optout", "revoke"), Wish.STOP
    ),
    **dict.fromkeys(("start", "unstop"), Wish.START),
    **dict.fromkeys(("help", "info"), Wish.HELP),
}
# Other languages, without accents.
_OURS = {
    **dict.fromkeys(
        (
            *("stopp", "abmelden", "abbestellen", "austragen", "ende", "abbrechen"),
            *("arret", "arreter", "desabonner", "desabonnement", "annuler", "fin"),
            *("alto", "baja", "parar", "cancelar"),
            *("sair", "fim", "descadastrar", "remover"),
        ),
        Wish.STOP,
    ),
    **dict.fromkeys(
        ("weiter", "starten", "reprendre", "demarrer", "reanudar", "iniciar", "recomecar", "retomar"),
        Wish.START,
    ),
    **dict.fromkeys(("hilfe", "aide", "ayuda", "ajuda"), Wish.HELP),
}
_WORDS = {**_OURS, **KNOWN_TO_TWILIO}


def word_of(body: str) -> str:
    """Return the only word, without accents and punctuation, or ""."""
    text = unicodedata.normalize("NFKD", body[:LONGEST_REPLY].casefold())
    plain = "".join(char for char in text if not unicodedata.combining(char))
    words: list[str] = re.findall(r"[^\W_]+", plain)
    if len(words) == 1 or (words and words[0] in _PLAIN and len(words) <= _MOST_WORDS):
        return words[0]
    # “opt out”, “stop all”
    return "".join(words) if len(words) == 2 else ""


def wish_of(body: str, opt_out_type: str = "") -> Wish | None:
    """`opt_out_type` is Twilio's opinion, if any."""
    if opt_out_type.lower() in (wish.value for wish in Wish):
        return Wish(opt_out_type.lower())
    return _WORDS.get(word_of(body))


def is_answered_by_twilio(body: str, opt_out_type: str = "") -> bool:
    """Return whether Twilio answers, as a second answer would cost and confuse.

    Its answer to HELP does not name us, so without words of the account's ours is sent.
    """
    return bool(opt_out_type) or KNOWN_TO_TWILIO.get(word_of(body)) in (Wish.STOP, Wish.START)
