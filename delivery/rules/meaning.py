"""What a mail server's refusal may mean, and whom it is about."""

from enum import StrEnum


class Concern(StrEnum):
    """Whom a refusal is about: what follows from it depends on that alone."""

    ADDRESS = "address"  # nothing will ever arrive there
    MAILBOX = "mailbox"  # nothing arrives there now
    US = "us"  # our server, our sender, the way we send: every reader there would be refused
    LETTER = "letter"  # this letter: every reader of it there would be refused
    NOBODY = "nobody"  # a host that is away or busy, or words that say nothing


class Meaning(StrEnum):
    """What a refusal means, in words for people."""

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
        """Whom it is about."""
        return _CONCERNS[self]


_CONCERNS = {
    **dict.fromkeys((Meaning.NO_ADDRESS, Meaning.NO_HOST, Meaning.CLOSED), Concern.ADDRESS),
    Meaning.FULL: Concern.MAILBOX,
    **dict.fromkeys((Meaning.SENDER, Meaning.IDENTITY, Meaning.BLOCKED, Meaning.RELAY), Concern.US),
    **dict.fromkeys((Meaning.LOGIN, Meaning.RATE, Meaning.POLICY), Concern.US),
    **dict.fromkeys((Meaning.SIZE, Meaning.CONTENT), Concern.LETTER),
    **dict.fromkeys((Meaning.AWAY, Meaning.UNCLEAR), Concern.NOBODY),
}
