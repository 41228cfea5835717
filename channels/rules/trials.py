"""Problems of a mail account that was tried, and what to do."""

from dataclasses import dataclass
from enum import StrEnum

from channels.rules.meaning import Meaning, advice


class Cause(StrEnum):
    """Why there is no usable connection."""

    NO_HOST = "no host"  # not in the DNS
    CLOSED = "closed"  # nothing listens, or unreachable
    SILENT = "silent"  # no answer in time
    CERTIFICATE = "certificate"  # untrusted, or for another name
    NO_TLS = "no tls"  # does not start with TLS
    NO_STARTTLS = "no starttls"
    NO_LOGIN = "no login"  # no known method
    LOGIN = "login"  # wrong user or password
    NOT_READY = "not ready"  # answers, but refuses us


@dataclass(frozen=True, slots=True)
class TriedServer:
    """`proof`: its provider's advice about passwords, if known."""

    host: str
    port: int
    sender: str
    proof: str = ""


_CAUSES = {
    Cause.NO_HOST: "There is no server called {host}. Copy the host from your provider’s help.",
    Cause.CLOSED: "Nothing answers at {host}, port {port}. Check both. If they are right, a firewall on the"
    " way keeps mail back: ask whoever runs this machine’s network.",
    Cause.SILENT: "{host} did not answer at port {port}. Either this port wants another security (465 is TLS,"
    " 587 is STARTTLS), or a firewall on the way keeps mail back.",
    Cause.CERTIFICATE: "{host} shows a certificate that cannot be trusted. Give the host by the name that its"
    " certificate has; your provider’s help has that name.",
    Cause.NO_TLS: "{host} does not begin with TLS at port {port}. Choose STARTTLS, which is usual at 587, or"
    " port 465.",
    Cause.NO_STARTTLS: "{host} offers no STARTTLS at port {port}. Choose TLS, which is usual at port 465.",
    Cause.NO_LOGIN: "{host} takes no user and password on such a connection. Choose STARTTLS or TLS; or, if"
    " it asks for no login, leave both empty.",
    Cause.LOGIN: "{host} refused user and password. Type both again.",
    Cause.NOT_READY: "{host} answers at port {port}, and wants no mail from here now. Its words say why; try"
    " it again later.",
}
_ABOUT_SENDER = (
    "{host} does not let this account send from {sender}. Give a sender that belongs to the account."
)


def trouble_of_cause(cause: Cause, server: TriedServer, said: str) -> str:
    """`said`: words of the server or network."""
    asked = f" It has to be this: {server.proof}" if cause is Cause.LOGIN and server.proof else ""
    text = _CAUSES[cause].format(host=server.host, port=server.port)
    return _quoting(f"{text}{asked}", said)


def trouble_of_refusal(meaning: Meaning | None, server: TriedServer, said: str) -> str:
    if meaning is Meaning.SENDER:
        text = _ABOUT_SENDER.format(host=server.host, sender=server.sender)
    else:
        text = f"{server.host} took the login, and refused the test mail."
        if meaning is not None and (todo := advice(meaning)):
            text = f"{text} {todo}"
    return _quoting(text, said)


def _quoting(text: str, said: str) -> str:
    return f"{text} Its words: {said.rstrip('.')}." if said else text
