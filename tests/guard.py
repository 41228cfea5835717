"""Guard that keeps the test process on loopback: it blocks name look-ups and other addresses."""

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ipaddress import ip_address
from typing import Any

import pytest

LOCAL_NAMES = {"", "localhost", "localhost.localdomain", socket.gethostname().lower()}


class LeftLoopback(OSError):
    """A test called an address outside this machine."""


def is_address(host: str) -> bool:
    try:
        ip_address(host.split("%")[0])
    except ValueError:
        return False
    return True


def is_local(host: str) -> bool:
    return host.lower() in LOCAL_NAMES or (is_address(host) and ip_address(host.split("%")[0]).is_loopback)


def host_of(host: str | bytes | None) -> str:
    return host.decode() if isinstance(host, bytes) else host or ""


class LoopbackGuard:
    """Guard; `tried` collects the refused addresses, so that a swallowed error is still noticed."""

    def __init__(self) -> None:
        self.tried: list[str] = []

    def connecting(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def connect(sock: socket.socket, address: Any) -> Any:
            if sock.family in (socket.AF_INET, socket.AF_INET6) and not is_local(host_of(address[0])):
                self.tried.append(str(address))
                raise LeftLoopback(f"Tests stay on loopback: {address}")
            return real(sock, address)

        return connect

    @staticmethod
    def resolving(real: Callable[..., Any]) -> Callable[..., Any]:
        def getaddrinfo(host: str | bytes | None, *args: Any, **kwargs: Any) -> Any:
            name = host_of(host)
            if not is_address(name) and not is_local(name):
                raise socket.gaierror(socket.EAI_NONAME, f"Name not known (tests ask no name server): {name}")
            return real(host, *args, **kwargs)

        return getaddrinfo

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Patch the socket module during the block."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(socket, "getaddrinfo", self.resolving(socket.getaddrinfo))
            for name in ("connect", "connect_ex"):
                patch.setattr(socket.socket, name, self.connecting(getattr(socket.socket, name)))
            yield
