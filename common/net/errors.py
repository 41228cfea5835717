import socket
import ssl
from urllib.parse import urlsplit

import requests
from urllib3.exceptions import ConnectTimeoutError, NewConnectionError

AGAIN = "Try again later."


class FetchError(requests.RequestException):
    """No response, or an unusable one."""


class Unreached(FetchError):
    """No complete response; retrying may help."""


class AnswerTooLarge(FetchError):
    pass


class AddressRefused(FetchError):
    def __init__(self, url: str, address: str) -> None:
        host = host_of(url)
        where = address if host == address else f"{host} leads to {address}, which"
        super().__init__(
            f"{where} is not a public address. If it should be called all the same, name its network in"
            " ALLOW_PRIVATE_NETWORKS."
        )


def host_of(url: str) -> str:
    try:
        return urlsplit(url).hostname or "The server"
    except ValueError:
        return "The server"


def exception_chain(error: BaseException) -> list[BaseException]:
    links = [error]
    while len(links) < 10 and (cause := links[-1].__cause__ or links[-1].__context__):
        links.append(cause)
    return links


# The request was certainly not sent. Not every SSLError: a server that dies while answering causes one too.
_BEFORE_SENDING = (
    AddressRefused,
    NewConnectionError,
    ConnectTimeoutError,
    socket.gaierror,
    ssl.SSLCertVerificationError,
    requests.exceptions.ConnectTimeout,
    requests.exceptions.InvalidURL,
    requests.exceptions.InvalidSchema,
    requests.exceptions.MissingSchema,
    requests.exceptions.InvalidHeader,
)


def never_left(error: BaseException) -> bool:
    return any(isinstance(link, _BEFORE_SENDING) for link in exception_chain(error))


def explanation(error: BaseException, host: str, seconds: float) -> str:
    links = exception_chain(error)

    def among(*kinds: type[BaseException]) -> bool:
        return any(isinstance(link, kinds) for link in links)

    if among(socket.gaierror, UnicodeError):
        return f"There is no server named {host}. Check the address for a typing mistake."
    if among(ssl.SSLCertVerificationError):
        return f"The certificate of {host} is not valid. Open the address in a browser to see why."
    if among(requests.exceptions.SSLError, ssl.SSLError):
        return f"No secure connection to {host} could be made. Open the address in a browser to see why."
    if among(TimeoutError, requests.exceptions.Timeout):
        return f"{host} did not send everything within {seconds:g} seconds. {AGAIN}"
    if among(ConnectionRefusedError):
        return f"{host} refuses connections. Check the address and its port, or try again later."
    if among(requests.exceptions.ContentDecodingError):
        return f"The answer of {host} is compressed in a way that cannot be read. Tell its publisher."
    if among(requests.exceptions.ChunkedEncodingError):
        return f"The answer of {host} ended before it was complete. {AGAIN}"
    if among(ValueError):
        return f"The address of {host} cannot be used: {_words(error)}. Check it."
    return f"{host} could not be reached ({_words(links[-1])}). {AGAIN}"


def _words(error: BaseException) -> str:
    return " ".join(str(error).split())[:200].rstrip(".") or type(error).__name__
