from enum import StrEnum


class Concern(StrEnum):
    """Whom a refusal concerns, which alone decides the consequences."""

    ADDRESS = "address"  # never deliverable
    MAILBOX = "mailbox"  # not deliverable now
    US = "us"  # our server, sender or behaviour: all readers there would be refused
    LETTER = "letter"  # this letter: all its readers there would be refused
    NOBODY = "nobody"  # a host that is away or busy, or unclear words


class Meaning(StrEnum):
    NO_ADDRESS = "there is no such address"
    NO_HOST = "there is no such mail host"
    CLOSED = "the mailbox is closed"
    FULL = "the mailbox is full"
    SENDER = "the sender is refused"
    IDENTITY = "it does not believe who the letter is from"
    BLOCKED = "our server is on a block list, or has a bad reputation"
    RELAY = "it does not relay for us"
    LOGIN = "it wants a login"
    RATE = "too much was sent at once"
    POLICY = "it does not want this from us"
    SIZE = "the letter is too large"
    CONTENT = "it does not want the letter’s content"
    AWAY = "the host is away or busy"
    UNCLEAR = "it does not say why"

    @property
    def concern(self) -> Concern:
        return _CONCERNS[self]


_CONCERNS = {
    **dict.fromkeys((Meaning.NO_ADDRESS, Meaning.NO_HOST, Meaning.CLOSED), Concern.ADDRESS),
    Meaning.FULL: Concern.MAILBOX,
    **dict.fromkeys((Meaning.SENDER, Meaning.IDENTITY, Meaning.BLOCKED, Meaning.RELAY), Concern.US),
    **dict.fromkeys((Meaning.LOGIN, Meaning.RATE, Meaning.POLICY), Concern.US),
    **dict.fromkeys((Meaning.SIZE, Meaning.CONTENT), Concern.LETTER),
    **dict.fromkeys((Meaning.AWAY, Meaning.UNCLEAR), Concern.NOBODY),
}


HOLDUP_ADVICE = {
    Meaning.SENDER: "Let the account (Mail set-up, or EMAIL_URL) send from that address, or change the"
    " newsletter's sender.",
    Meaning.IDENTITY: "Look at SPF, DKIM, DMARC and the name of the server's address (manage.py check_mail).",
    Meaning.BLOCKED: "Look the mail server's address up at the list that it names, and ask to be taken off.",
    Meaning.RELAY: "Check server and login (Mail set-up, or EMAIL_URL): it does not send to others for us.",
    Meaning.LOGIN: "Check user and password (Mail set-up, or EMAIL_URL).",
    Meaning.RATE: "Set a limit that it takes (manage.py alter_lane, --per-hour or --rate).",
    Meaning.SIZE: "Raise the mail server's limit (Postfix: message_size_limit), or send fewer posts at once.",
}


def advice(meaning: Meaning) -> str:
    return HOLDUP_ADVICE.get(meaning, "")
