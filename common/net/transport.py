"""urllib3 connections that go only to checked addresses and end with their budget."""

import io
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, cast

import requests
from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.exceptions import ConnectTimeoutError, NameResolutionError, NewConnectionError
from urllib3.util.connection import create_connection
from urllib3.util.retry import Retry

from common.net.addresses import Network, NotAllowed, Resolver, callable_addresses

# Per address, so that a dead first one leaves time for the next.
CONNECT_SECONDS = 7.0
POOLED_HOSTS = 32
# A server may close a kept connection just as it is used, so harmless requests are retried once. Callers
# handle Retry-After.
RETRY = Retry(
    total=1,
    connect=0,
    read=1,
    redirect=0,
    status=0,
    other=0,
    allowed_methods=["GET", "HEAD"],
    respect_retry_after_header=False,
)


@dataclass(frozen=True, slots=True)
class RequestDeadline:
    """`ends_at` is on the monotonic clock; `max_bytes` is after decompression."""

    ends_at: float
    max_bytes: int

    @property
    def seconds_left(self) -> float:
        """Raise TimeoutError if none are left."""
        left = self.ends_at - time.monotonic()
        if left <= 0:
            raise TimeoutError("timed out")
        return left


_current: ContextVar[RequestDeadline | None] = ContextVar("budget", default=None)


def current_deadline() -> RequestDeadline | None:
    return _current.get()


@contextmanager
def budget(seconds: float, max_bytes: int) -> Iterator[RequestDeadline]:
    outer, ends_at = _current.get(), time.monotonic() + seconds
    ours = outer or RequestDeadline(ends_at, max_bytes)
    if outer is not None and ends_at < outer.ends_at:
        ours = RequestDeadline(ends_at, outer.max_bytes)
    token = _current.set(ours)
    try:
        yield ours
    finally:
        _current.reset(token)


class _TimedRaw(io.RawIOBase):
    """Times out by the rest of the budget, so that a slow drip ends, too."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._raw = cast(io.RawIOBase, sock.makefile("rb", buffering=0))

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        deadline = current_deadline()
        if deadline is not None:
            self._sock.settimeout(deadline.seconds_left)
        return self._raw.readinto(buffer)

    def close(self) -> None:
        self._raw.close()
        super().close()


class _TimedSocket:
    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock

    def makefile(self, mode: str = "rb", *_: Any, **__: Any) -> io.BufferedReader:
        return io.BufferedReader(_TimedRaw(self._sock))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sock, name)


class _Checked:
    """Leads to the very address that was checked.

    The connection is still named by the host, so that SNI, certificate and Host header are right.
    """

    allow: Sequence[Network] = ()
    resolve: Resolver | None = None

    def _new_conn(self: Any) -> socket.socket:
        try:
            addresses = callable_addresses(
                self._dns_host, self.port, allow=self.allow, resolve=type(self).resolve
            )
        except (OSError, UnicodeError) as error:
            raise NameResolutionError(self.host, self, cast(socket.gaierror, error)) from error
        failure: OSError = OSError("no address")
        for number, address in enumerate(addresses):
            try:
                return cast(socket.socket, self._connected(address, tries_left=len(addresses) - number))
            except OSError as error:
                failure = error
        if isinstance(failure, TimeoutError):
            raise ConnectTimeoutError(self, f"Connection to {self.host} timed out.") from failure
        raise NewConnectionError(self, f"Failed to establish a new connection: {failure}") from failure

    def _connected(self: Any, address: str, tries_left: int) -> socket.socket:
        deadline = current_deadline()
        left = deadline.seconds_left if deadline else CONNECT_SECONDS
        seconds = left if tries_left == 1 else min(left, CONNECT_SECONDS)
        sock = create_connection(
            (address, self.port), seconds, source_address=None, socket_options=self.socket_options
        )
        if deadline:
            sock.settimeout(deadline.seconds_left)
        return sock

    def connect(self: Any) -> None:
        super().connect()  # type: ignore[misc]
        self.sock = _TimedSocket(self.sock)


class CheckedAdapter(HTTPAdapter):
    """Raises `refused(host, address)` besides what requests raises."""

    def __init__(
        self, *, allow: Sequence[Network], resolve: Resolver | None, refused: type[requests.RequestException]
    ) -> None:
        self._refused = refused
        self._policy = {"allow": tuple(allow), "resolve": staticmethod(resolve) if resolve else None}
        super().__init__(pool_connections=POOLED_HOSTS, max_retries=RETRY)

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        super().init_poolmanager(*args, **kwargs)
        http = type("CheckedHTTPConnection", (_Checked, HTTPConnection), self._policy)
        https = type("CheckedHTTPSConnection", (_Checked, HTTPSConnection), self._policy)
        self.poolmanager.pool_classes_by_scheme = {
            "http": type("CheckedHTTPPool", (HTTPConnectionPool,), {"ConnectionCls": http}),
            "https": type("CheckedHTTPSPool", (HTTPSConnectionPool,), {"ConnectionCls": https}),
        }

    def send(self, request: requests.PreparedRequest, *args: Any, **kwargs: Any) -> requests.Response:
        try:
            return super().send(request, *args, **kwargs)
        except NotAllowed as error:
            raise self._refused(request.url or "", error.args[0]) from error
