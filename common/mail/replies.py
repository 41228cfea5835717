"""Detection of automatic replies (RFC 3834). Pure."""

import re
from email.message import Message
from email.utils import parseaddr

from common.mail.parts import decoded_field, raw_field

# They send only delivery reports.
_DAEMON = re.compile(r"mailer-?_?daemon|mail-?daemon|mdaemon|maildeliverysystem", re.IGNORECASE)
_AWAY = re.compile(
    r"out of (?:the )?office|auto(?:matic|matische)?[ -]?(?:reply|response|antwort)|\bvacation\b"
    r"|on (?:holiday|leave)|abwesen|abwesend"
    r"|réponse automatique|absence|absent|respuesta automática|fuera de la oficina"
    r"|risposta automatica|fuori (?:sede|ufficio)|assenza|assente"
    r"|automatisch antwoord|afwezig|vakantie|resposta automática|ausência|\bférias"
    r"|autoodpowiedź|automatyczna odpowiedź|poza biurem|nieobecn"
    r"|autosvar|automatiskt? svar|frånvar|fravær|automaattinen vastaus|poissa"
    r"|automatická odpověď|nepřítomn|автоответ|отсутств"
    r"|自動(?:返信|応答)|不在|休暇|自动(?:回复|答复)|自動回覆|부재중|자동 ?회신",
    re.IGNORECASE,
)


def is_daemon(message: Message) -> bool:
    """Return whether a mail system sent it: some write only “mailer-daemon”."""
    return bool(_DAEMON.fullmatch(sender(message)))


def sender(message: Message) -> str:
    """Return the sender's local part, or its replacement."""
    name, address = parseaddr(raw_field(message, "from")[:1000])
    local = address.rpartition("@")[0] or address or name
    return local.strip(" <>").replace(".", "")


def is_away(words: str) -> bool:
    """Return whether the words announce an absence or automatic answer."""
    return _AWAY.search(words[:2_000]) is not None


def is_marked_as_reply(message: Message) -> bool:
    """Return whether its header says so (RFC 3834 §5, RFC 5436 §2.7.1)."""
    named = ("x-autoreply", "x-autorespond", "x-autoresponder", "x-auto-reply-from")
    answers = _submitted(message).startswith(("auto-replied", "auto-notified"))
    return answers or any(name in message for name in named)


def is_auto_reply(message: Message) -> bool:
    if is_daemon(message) or sender(message).lower() == "postmaster":
        return False
    if is_marked_as_reply(message):
        return True
    if not is_away(decoded_field(message, "subject")):
        return False
    # A subject alone is no proof.
    precedence = raw_field(message, "precedence").strip().lower()
    return (
        _submitted(message) not in ("", "no")
        or precedence in ("bulk", "junk", "list", "auto_reply")
        or "x-auto-response-suppress" in message
        or is_unanswerable(message)
    )


def is_unanswerable(message: Message) -> bool:
    """Return whether it has the empty return path of reports and replies."""
    return raw_field(message, "return-path").strip() == "<>"


def _submitted(message: Message) -> str:
    return raw_field(message, "auto-submitted").split(";")[0].strip().lower()
