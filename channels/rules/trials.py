"""Problems of a mail account that was tried, and what to do."""

from enum import StrEnum

from channels.rules.meaning import Meaning, advice

_ABOUT_SENDER = (
    "{host} doesn’t let this account send from {sender}. Use a sender that belongs to the account."
)


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


_CAUSES = {
    Cause.NO_HOST: "There is no server called {host}. Copy the host from your provider’s help.",
    Cause.CLOSED: "{host} doesn’t respond on port {port}. Check both. If they’re right, a firewall may be "
    "blocking email. Ask your hosting provider.",
    Cause.SILENT: "{host} didn’t respond in time on port {port}. Either the port needs a different "
    "security setting (465 is TLS, 587 is STARTTLS), or a firewall is blocking email.",
    Cause.CERTIFICATE: "The certificate of {host} can’t be verified. Use the host name from your provider’s "
    "help.",
    Cause.NO_TLS: "{host} doesn’t use TLS on port {port}. Choose STARTTLS, which is usual on 587, or use "
    "port 465.",
    Cause.NO_STARTTLS: "{host} doesn’t offer STARTTLS on port {port}. Choose TLS, which is usual on "
    "port 465.",
    Cause.NO_LOGIN: "{host} doesn’t accept a user and password on this connection. Choose STARTTLS or TLS, "
    "or leave both empty if no sign-in is needed.",
    Cause.LOGIN: "{host} refused the user and password. Enter both again.",
    Cause.NOT_READY: "{host} responded on port {port} but doesn’t accept email from us now. "
    "Read its message, and try again later.",
}


def trouble_of_cause(cause: Cause, host: str, port: int, said: str, *, proof: str = "") -> str:
    """`said`: words of the server or network; `proof`: its provider's advice about passwords, if known."""
    asked = f" It must be: {proof}" if cause is Cause.LOGIN and proof else ""
    text = _CAUSES[cause].format(host=host, port=port)
    return _quoting(f"{text}{asked}", said)


def trouble_of_refusal(meaning: Meaning | None, host: str, sender: str, said: str) -> str:
    if meaning is Meaning.SENDER:
        text = _ABOUT_SENDER.format(host=host, sender=sender)
    else:
        text = f"{host} accepted the sign-in but refused the test email."
        if meaning is not None and (todo := advice(meaning)):
            text = f"{text} {todo}"
    return _quoting(text, said)


def _quoting(text: str, said: str) -> str:
    return f"{text} Its words: {said.rstrip('.')}." if said else text
