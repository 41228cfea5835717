from enum import StrEnum

from common.program import MANAGE


class Concern(StrEnum):
    """Whom a refusal concerns, which alone decides the consequences."""

    ADDRESS = "address"  # never deliverable
    MAILBOX = "mailbox"  # not deliverable now
    US = "us"  # our server, sender or behaviour: all readers there would be refused
    LETTER = "letter"  # this letter: all its readers there would be refused
    NOBODY = "nobody"  # a host that is away or busy, or unclear words


class Meaning(StrEnum):
    NO_ADDRESS = "the address doesn’t exist"
    NO_HOST = "the mail server doesn’t exist"
    CLOSED = "the mailbox is closed"
    FULL = "the mailbox is full"
    SENDER = "the sender is refused"
    IDENTITY = "the sender failed authentication"
    BLOCKED = "our server is on a block list or has a bad reputation"
    RELAY = "the server doesn’t relay for us"
    LOGIN = "the server requires a sign-in"
    RATE = "too many emails were sent at once"
    POLICY = "the server refuses email from us"
    SIZE = "the email is too large"
    CONTENT = "the server refuses the email’s content"
    AWAY = "the server is unreachable or busy"
    UNCLEAR = "no reason was given"

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
    Meaning.SENDER: "Allow the account (“Email set-up”, or EMAIL_URL) to send from that address, or change "
    "the newsletter’s sender.",
    Meaning.IDENTITY: f"Check SPF, DKIM, DMARC and reverse DNS ({MANAGE} check_mail).",
    Meaning.BLOCKED: "Look up the mail server’s address on the block list that it names, and ask to be "
    "removed.",
    Meaning.RELAY: "Check the server and sign-in (“Email set-up”, or EMAIL_URL). The server doesn’t relay "
    "for us.",
    Meaning.LOGIN: "Check the user and password (“Email set-up”, or EMAIL_URL).",
    Meaning.RATE: f"Lower the sending limit ({MANAGE} alter_lane, --per-hour or --rate).",
    Meaning.SIZE: "Raise the mail server’s limit (in Postfix, message_size_limit), or send fewer posts per "
    "issue.",
}


def advice(meaning: Meaning) -> str:
    return HOLDUP_ADVICE.get(meaning, "")
