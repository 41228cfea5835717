"""The test run itself does not connect to other machines."""

import socket

import pytest

from tests.guard import LeftLoopback, LoopbackGuard


def test_an_address_elsewhere_is_refused_and_remembered(loopback_guard: LoopbackGuard) -> None:
    with socket.socket() as sock, pytest.raises(LeftLoopback):
        sock.connect(("192.0.2.1", 80))
    assert loopback_guard.tried == ["('192.0.2.1', 80)"]
    loopback_guard.tried.clear()


def test_names_are_not_looked_up() -> None:
    with pytest.raises(socket.gaierror):
        socket.getaddrinfo("example.org", 80)


def test_loopback_is_reached() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()):
        pass
