"""TCP connections to the first address that answers (RFC 8305)."""

import asyncio
import socket
from contextlib import suppress
from itertools import chain, zip_longest
from typing import Any, NamedTuple

# Seconds until the next address is tried in parallel (RFC 8305 §5).
ATTEMPT_DELAY = 0.25
# A DNS answer may have any number of addresses.
MOST_ADDRESSES = 16


class Address(NamedTuple):
    family: int
    sockaddr: Any


# Last address used, and whether a server answered.
_last: dict[tuple[str, int], tuple[Address, bool]] = {}


async def open_socket(host: str, port: int, seconds: float) -> tuple[socket.socket, Address]:
    """Allow `seconds` for each address. Raises OSError."""
    async with asyncio.timeout(seconds):
        waiting = await _addresses(host, port)
    attempts: dict[asyncio.Task[socket.socket], Address] = {}
    error: OSError = socket.gaierror(socket.EAI_NONAME, "the host name has no address")
    try:
        while waiting or attempts:
            if waiting:
                address = waiting.pop(0)
                attempts[asyncio.create_task(_connected(address, seconds))] = address
            done, _ = await asyncio.wait(
                attempts, timeout=ATTEMPT_DELAY if waiting else None, return_when=asyncio.FIRST_COMPLETED
            )
            for attempt in done:
                failure = attempt.exception()
                if failure is None:
                    return attempt.result(), attempts.pop(attempt)
                if not isinstance(failure, OSError):
                    raise failure
                error = failure
                del attempts[attempt]
        raise error
    finally:
        for attempt in attempts:
            attempt.add_done_callback(_close)
            attempt.cancel()


def remember(host: str, port: int, address: Address, *, answers: bool) -> None:
    """Start with this address next time, or with the next one unless it `answers`."""
    _last[host, port] = address, answers


async def _addresses(host: str, port: int) -> list[Address]:
    """Alternate families (RFC 8305 §4), the last one that worked first."""
    every = list(dict.fromkeys(await _resolved(host, port)))
    if len(every) == 1:
        return every
    first = [address for address in every if address.family == every[0].family]
    rest = [address for address in every if address.family != every[0].family]
    addresses = [one for one in chain.from_iterable(zip_longest(first, rest)) if one][:MOST_ADDRESSES]
    last, answers = _last.get((host, port), (None, True))
    start = addresses.index(last) + (not answers) if last in addresses else 0
    return [*addresses[start:], *addresses[:start]]


async def _resolved(host: str, port: int) -> list[Address]:
    rows = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [Address(row[0], row[4]) for row in rows]


async def _connected(address: Address, seconds: float) -> socket.socket:
    made = socket.socket(address.family, socket.SOCK_STREAM)
    try:
        made.setblocking(False)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        async with asyncio.timeout(seconds):
            await asyncio.get_running_loop().sock_connect(made, address.sockaddr)
    except BaseException:
        made.close()
        raise
    return made


def _close(attempt: "asyncio.Task[socket.socket]") -> None:
    with suppress(asyncio.CancelledError, OSError):
        attempt.result().close()
