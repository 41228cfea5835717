"""The way to a service's API: bounded, to public addresses only, and never after a redirect."""

import socket
import ssl
from collections.abc import Iterator
from typing import Any

import requests
from django.conf import settings
from urllib3.exceptions import ConnectTimeoutError, NewConnectionError

from common.fetch_errors import AddressRefused
from common.http import SafeSession
from common.transport import CheckedAdapter

# Somewhere in the chain of a failure whose request never left: no address, no connection, no trust.
_BEFORE_SENDING = (
    AddressRefused,
    NewConnectionError,
    ConnectTimeoutError,
    socket.gaierror,
    ssl.SSLCertVerificationError,
    requests.exceptions.ConnectTimeout,
    requests.exceptions.InvalidURL,
    requests.exceptions.InvalidHeader,
)


class Unsent(Exception):
    """The service can have seen nothing of the request. The message is the rest of a sentence about it."""


class Unanswered(Exception):
    """The request went out, and nobody knows what became of it."""


class EspHttp(SafeSession):
    """The session that a backend of anymail works with. Raises Unsent and Unanswered."""

    def __init__(self, *, seconds: float) -> None:
        adapter = CheckedAdapter(
            allow=tuple(settings.ALLOW_PRIVATE_NETWORKS), resolve=None, refused=AddressRefused
        )
        agent = f"Feedletter/{settings.VERSION} (django-anymail)"
        super().__init__(adapter, user_agent=agent, seconds=seconds)

    def request(self, *args: Any, **kwargs: Any) -> requests.Response:
        """As requests does, but a redirect is an answer like any other: the key goes to nobody else."""
        try:
            return super().request(*args, **{**kwargs, "allow_redirects": False})
        except (requests.RequestException, OSError) as error:
            raise unfinished(error) from error


def unfinished(error: BaseException) -> Unsent | Unanswered:
    """What is known of a request that has no answer."""
    links = list(_chain(error))
    if not any(isinstance(link, _BEFORE_SENDING) for link in links):
        return Unanswered("the connection ended before it had answered")
    if any(isinstance(link, AddressRefused) for link in links):
        return Unsent("has a private address, which ALLOW_PRIVATE_NETWORKS does not name")
    if any(isinstance(link, ssl.SSLError) for link in links):
        return Unsent("has no valid certificate")
    if any(isinstance(link, socket.gaierror) for link in links):
        return Unsent("has no address in the DNS")
    return Unsent("cannot be reached")


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error and what it came from, at most ten deep."""
    link: BaseException | None = error
    for _ in range(10):
        if link is None:
            return
        yield link
        link = link.__cause__ or link.__context__
