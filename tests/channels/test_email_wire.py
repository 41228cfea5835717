"""Reading from the socket: replies arrive whole, in order and bounded, however they are split."""

import asyncio
import gc
from collections.abc import Callable, Coroutine
from itertools import pairwise
from typing import Any, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.email.smtp_connection import MAX_REPLY, MOST_UNREAD, Connection, Timeouts, Wire, connect
from channels.email.smtp_login import SmtpSettings
from channels.email.smtp_replies import NO_SMTP, CannotConnect, Lost, Reply
from tests.servers.odd_smtp import OddServer
from tests.servers.raw_smtp import RawServer
from tests.servers.smtp_server import SmtpServer

T = TypeVar("T")
QUICK = Timeouts(connect=1, reply=1, message=1, quit=0.2)
TEXTS = st.lists(st.binary(max_size=20).filter(lambda text: b"\n" not in text), min_size=1, max_size=4)
REPLIES = st.lists(st.tuples(st.integers(200, 599), TEXTS), min_size=1, max_size=6)


def run(act: Callable[[], Coroutine[Any, Any, T]]) -> T:
    return asyncio.run(act())


def octets(code: int, texts: list[bytes], end: bytes = b"\r\n") -> bytes:
    *more, last = texts
    return b"".join(b"%d-%s%s" % (code, text, end) for text in more) + b"%d %s%s" % (code, last, end)


@given(REPLIES, st.lists(st.integers(0, 400)), st.sampled_from([b"\r\n", b"\n"]))
def test_replies_are_the_same_however_they_are_cut(
    replies: list[tuple[int, list[bytes]]], cuts: list[int], end: bytes
) -> None:
    said = b"".join(octets(code, texts, end) for code, texts in replies)
    places = sorted({0, len(said), *(cut % (len(said) + 1) for cut in cuts)})

    async def read() -> list[Reply]:
        wire = Wire()
        for start, stop in pairwise(places):
            wire.data_received(said[start:stop])
        return [await wire.reply(1) for _ in replies]

    wanted = [Reply(code, b"\n".join(text.strip() for text in texts)) for code, texts in replies]
    assert run(read) == wanted


@given(st.binary(max_size=300))
def test_whatever_comes_is_a_reply_or_none(said: bytes) -> None:
    async def read() -> None:
        wire = Wire()
        wire.data_received(said)
        wire.data_received(b"\r\n")
        assert len(wire.replies) <= said.count(b"\n") + 1

    run(read)


@pytest.mark.parametrize("line", [b"25", b"2500 x", b"2 0 x", b"ok", b"250+x", b"\xb2\xb2\xb2 x", b" 250 x"])
def test_what_is_no_reply_is_said_to_be_none(line: bytes) -> None:
    async def read() -> Reply:
        wire = Wire()
        wire.data_received(line + b"\r\n")
        return await wire.reply(1)

    assert run(read) == Reply(NO_SMTP, line)


@pytest.mark.parametrize("blank", [b"\r\n", b"\n", b" \r\n", b"\r\n\r\n"])
def test_blank_lines_are_no_reply(blank: bytes) -> None:
    async def read() -> list[Reply]:
        wire = Wire()
        wire.data_received(blank + b"250-one\r\n" + blank + b"250 two\r\n" + blank + b"354 go\r\n")
        return [await wire.reply(1), await wire.reply(1)]

    assert run(read) == [Reply(250, b"one\ntwo"), Reply(354, b"go")]


def test_each_of_several_replies_has_its_own_time() -> None:
    async def read() -> bool:
        wire, loop = Wire(), asyncio.get_running_loop()
        for number in range(4):
            loop.call_later(0.3 * number, wire.data_received, b"250 ok\r\n")
        await wire.arrival(4, 0.7)
        return wire.is_open

    assert run(read)


@pytest.mark.parametrize("piece", [b"x" * 1000, b"250-" + b"x" * 996 + b"\r\n"], ids=["line", "lines"])
def test_a_reply_without_an_end_ends_the_connection(piece: bytes) -> None:
    async def read() -> tuple[Reply, int]:
        wire, received = Wire(), 0
        while wire.is_open:
            wire.data_received(piece)
            received += len(piece)
        return await wire.reply(1), received

    reply, received = run(read)
    assert reply.code == NO_SMTP
    assert received < MAX_REPLY + 2000


def test_a_server_that_speaks_on_and_on_is_left() -> None:
    async def read() -> int:
        wire, received = Wire(), 0
        while wire.is_open and received < 10_000:
            wire.data_received(b"250 ok\r\n" * 10)
            received += 10
        return received

    assert run(read) <= MOST_UNREAD + 10


# --- opened over a real socket


def target(port: int, **facts: Any) -> SmtpSettings:
    return SmtpSettings("127.0.0.1", port, **facts)


def opened(port: int, **facts: Any) -> Coroutine[Any, Any, Connection]:
    return connect(target(port, **facts), helo="letters.example.org", context=None, timeouts=QUICK)


def test_features_are_known_by_name_in_any_case() -> None:
    ehlo = b"250-mx.example.test\r\n250-size 1000\r\n250-AUTH=PLAIN\r\n250-AUTH LOGIN\r\n250 PipeLining\r\n"
    with RawServer({"EHLO": ehlo}) as server:

        async def features() -> dict[str, str]:
            connection = await opened(server.port)
            connection.wire.abort("done")
            return connection.features

        assert run(features) == {"size": "1000", "auth": "PLAIN LOGIN", "pipelining": ""}


def test_a_reply_that_does_not_come_is_lost_in_time_and_the_connection_closed() -> None:
    with RawServer({"NOOP": b""}) as server:

        async def silent() -> None:
            wire = (await opened(server.port)).wire
            wire.say(b"NOOP\r\n")
            with pytest.raises(Lost, match="in time") as lost:
                await wire.reply(0.1)
            assert lost.value.sent_all
            assert not wire.is_open
            with pytest.raises(Lost, match="in time"):
                await wire.reply(10)

        run(silent)


def test_what_was_said_before_the_end_is_still_read() -> None:
    with RawServer({"NOOP": b"250 one\r\n421 two\r\n"}, hangs_up_after="NOOP") as server:

        async def ending() -> None:
            wire = (await opened(server.port)).wire
            wire.say(b"NOOP\r\n")
            await asyncio.sleep(0.1)
            assert not wire.is_open
            assert [(await wire.reply(1)).code for _ in range(2)] == [250, 421]
            with pytest.raises(Lost, match="closed the connection"):
                await wire.reply(1)
            wire.say(b"to nobody\r\n")

        run(ending)


def test_of_what_does_not_leave_the_wire_knows() -> None:
    with OddServer({}, deaf=True) as server:

        async def stuck() -> None:
            wire = (await opened(server.port)).wire
            wire.say(b"DATA\r\n")
            await wire.reply(1)
            wire.say(b"x" * 8_000_000)
            with pytest.raises(Lost) as lost:
                await wire.reply(0.2)
            assert not lost.value.sent_all

        run(stuck)


@pytest.mark.parametrize("verb", ["CONNECT", "EHLO"])
@pytest.mark.parametrize("reply", [b"554 no\r\n", b"", None, b"junk\r\n"])
def test_a_connection_that_is_not_used_is_closed(verb: str, reply: bytes | None) -> None:
    with RawServer({verb: reply}) as server:

        async def refused() -> None:
            with pytest.raises(CannotConnect, match=str(server.port)):
                await opened(server.port)

        run(refused)
        # The server handles one conversation at a time, and is free for another.
        server.script |= RawServer.ordinary

        async def used() -> None:
            (await opened(server.port)).wire.abort("done")

        run(used)


def test_who_gives_up_waiting_leaves_no_connection_behind() -> None:
    with SmtpServer() as server:
        server.answer("ehlo", "(stall)")

        async def cancelled() -> None:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.2):
                    await opened(server.port)

        run(cancelled)
        gc.collect()
        server.wait_until_idle(2)
