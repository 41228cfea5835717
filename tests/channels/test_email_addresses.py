"""A mail host with several addresses: all are tried, and the working one is first the next time."""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing

import pytest

from channels.base import Sent, Temporary
from channels.email import smtp_addresses
from channels.email.session import BlockingSmtpSession
from channels.email.smtp_login import SmtpSettings
from tests.channels.email_letters import IMPATIENT, PATIENT, send
from tests.servers.smtp_server import SmtpServer

HOST = "mail.example.test"


@pytest.fixture
def blackhole() -> Iterator[tuple[str, int]]:
    """Yield an address that drops packets: its listener accepts nothing, and its queue is full."""
    with ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.2", 0), backlog=0))
        for _ in range(4):
            full = stack.enter_context(closing(socket.socket()))
            full.setblocking(False)
            full.connect_ex(listener.getsockname())
        yield listener.getsockname()


@pytest.fixture
def server() -> Iterator[SmtpServer]:
    with SmtpServer() as made:
        yield made


def resolve(monkeypatch: pytest.MonkeyPatch, *addresses: tuple[str, int]) -> None:
    """Resolve HOST to these addresses."""

    async def known(host: str, port: int) -> list[smtp_addresses.Address]:
        families = {True: socket.AF_INET6, False: socket.AF_INET}
        return [smtp_addresses.Address(families[":" in address[0]], address) for address in addresses]

    monkeypatch.setattr(smtp_addresses, "_resolved", known)
    monkeypatch.setattr(smtp_addresses, "_last", {})


def client(**options: object) -> BlockingSmtpSession:
    return BlockingSmtpSession(
        SmtpSettings(HOST, 25), **{"helo": "letters.example.org", "timeouts": PATIENT, **options}
    )


def test_an_address_that_swallows_packets_does_not_keep_the_others_from_being_tried(
    monkeypatch: pytest.MonkeyPatch, blackhole: tuple[str, int], server: SmtpServer
) -> None:
    resolve(monkeypatch, blackhole, ("::1", closed_port()), blackhole, ("127.0.0.1", server.port))
    one = client()
    assert isinstance(send(one), Sent)
    one.close()


def test_the_address_that_worked_comes_first_the_next_time(
    monkeypatch: pytest.MonkeyPatch, blackhole: tuple[str, int], server: SmtpServer
) -> None:
    resolve(monkeypatch, blackhole, ("127.0.0.1", server.port))
    one = client()
    send(one)
    one.close()
    first = asyncio.run(smtp_addresses._addresses(HOST, 25))[0]
    assert first.sockaddr == ("127.0.0.1", server.port)


def test_an_address_that_takes_the_connection_and_says_nothing_comes_last_the_next_time(
    monkeypatch: pytest.MonkeyPatch, server: SmtpServer
) -> None:
    with socket.create_server(("127.0.0.3", 0)) as silent:
        resolve(monkeypatch, silent.getsockname(), ("127.0.0.1", server.port))
        one = client(timeouts=IMPATIENT)
        assert isinstance(send(one), Temporary)
        assert isinstance(send(one), Sent)
        one.close()


def test_where_no_address_answers_the_server_cannot_be_reached(
    monkeypatch: pytest.MonkeyPatch, blackhole: tuple[str, int]
) -> None:
    resolve(monkeypatch, blackhole, ("127.0.0.1", closed_port()))
    one = client(timeouts=IMPATIENT)
    refused = send(one)
    one.close()
    assert isinstance(refused, Temporary)
    assert "can’t be reached" in refused.text


def test_the_families_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    resolve(monkeypatch, ("::1", 1), ("::2", 1), ("::3", 1), ("127.0.0.1", 1), ("127.0.0.2", 1))
    addresses = asyncio.run(smtp_addresses._addresses(HOST, 25))
    assert [one.sockaddr[0] for one in addresses] == ["::1", "127.0.0.1", "::2", "127.0.0.2", "::3"]


def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])
