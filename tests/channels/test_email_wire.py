"""Reading from the socket: replies arrive whole, in order and bounded, however they are split.

The outcome of each response of a mail server, stage by stage.
"""

import asyncio
import gc
from collections.abc import Callable, Coroutine
from itertools import pairwise
from typing import Any, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.base import Ambiguous, Holdup, Permanent, Sent, Temporary
from channels.email.smtp_connection import MAX_REPLY, MOST_UNREAD, Connection, Timeouts, Wire, connect
from channels.email.smtp_login import SmtpSettings
from channels.email.smtp_replies import NO_SMTP, CannotConnect, Lost, Reply, Stage, outcome_of_reply
from channels.rules.meaning import Meaning
from tests.servers.raw_smtp import OddServer, RawServer
from tests.servers.smtp_server import SmtpServer

stages = st.sampled_from(Stage)
SLOWING = [
    b"421|4.7.28 Our system has detected an unusual rate",
    b"421|4.3.2 Shutting down",
    b"421|Too many connections",
    b"450|4.7.1 Error: too much mail from 192.0.2.1",
    b"451|4.7.500 Server busy",
    b"454|4.7.0 Temporary authentication failure",
    b"454|Throttling failure: Maximum sending rate exceeded.",
    b"450|Too many connections from your host",
    b"451|Rate limit exceeded",
]
OF_ONE = [
    b"450|4.2.0 Mailbox busy",
    b"450|4.2.1 The user is receiving mail at a rate that exceeds limits",
    b"452|4.2.2 Over quota",
    b"451|4.7.1 Greylisting in action, please come back later",
    b"450|4.7.1 You are gray-listed",
    b"451|4.7.1 Try again later",
    b"451|4.3.0 Try again later",
    b"450|4.1.8 Sender domain not found",
]
QUOTED = b"5.1.1 <a@b>: Recipient address rejected: undeliverable address: host mx.b[192.0.2.9] said: "
HELD_UP = [
    (b"553|5.7.1 <a@ours>: Sender address rejected: not owned by user u", Holdup.SENDER),
    (b"550|5.1.8 <a@ours>: Sender address rejected: Domain not found", Holdup.SENDER),
    (b"550|5.7.26 This mail is unauthenticated", Holdup.DOMAIN),
    (b"554|5.7.1 Client host [192.0.2.1] blocked using bl.spamcop.net", Holdup.DOMAIN),
    (b"550|" + QUOTED + b"550 5.7.1 blocked using Spamhaus", Holdup.DOMAIN),
    (b"550|" + QUOTED + b"554 5.7.1 <a@b>: Relay access denied", Holdup.DOMAIN),
    (b"550|" + QUOTED + b"550 5.1.8 Sender address rejected: Domain not found", Holdup.DOMAIN),
    (b"552|5.3.4 Message size exceeds fixed limit", Holdup.LETTER),
    (b"552|5.2.3 Message too long", Holdup.LETTER),
]
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


def said(text: bytes) -> tuple[int, bytes]:
    code, _, words = text.partition(b"|")
    return int(code), words


@pytest.mark.parametrize("stage", Stage)
@pytest.mark.parametrize("answer", SLOWING)
def test_an_answer_about_rate_or_policy_slows_the_lane_at_every_stage(stage: Stage, answer: bytes) -> None:
    outcome = outcome_of_reply(stage, *said(answer))
    assert isinstance(outcome, Temporary)
    assert (outcome.stops_lane, outcome.suspect) == (True, True)


@pytest.mark.parametrize("stage", Stage)
@pytest.mark.parametrize("answer", OF_ONE)
def test_another_temporary_answer_puts_off_that_message_alone(stage: Stage, answer: bytes) -> None:
    outcome = outcome_of_reply(stage, *said(answer))
    assert isinstance(outcome, Temporary)
    assert not outcome.stops_lane


@pytest.mark.parametrize("stage", [Stage.RCPT, Stage.DATA, Stage.MESSAGE])
@pytest.mark.parametrize("answer", [b"550|5.1.1 No such user", b"550|5.7.1 Refused", b"554|No", b"571|5.7.1"])
def test_a_refusal_fails_the_recipient_and_tells_its_code(stage: Stage, answer: bytes) -> None:
    outcome = outcome_of_reply(stage, *said(answer))
    assert isinstance(outcome, Permanent)
    assert not outcome.disables
    assert outcome.status == (said(answer)[1].split()[0].decode() if b"." in answer else "")


@pytest.mark.parametrize("answer", [b"550|5.1.8 Sender refused", b"553|5.7.1 Not owned", b"550|5.7.26 No"])
def test_a_refused_sender_fails_nobody_for_good(answer: bytes) -> None:
    outcome = outcome_of_reply(Stage.MAIL, *said(answer))
    assert isinstance(outcome, Temporary)
    assert outcome.status == said(answer)[1].split()[0].decode()


@pytest.mark.parametrize("stage", [Stage.RCPT, Stage.DATA, Stage.MESSAGE])
@pytest.mark.parametrize(("answer", "holdup"), HELD_UP)
def test_a_refusal_that_is_about_us_says_what_the_letter_waits_for(
    stage: Stage, answer: bytes, holdup: Holdup
) -> None:
    outcome = outcome_of_reply(stage, *said(answer))
    assert isinstance(outcome, Temporary)
    assert (outcome.holdup, outcome.stops_lane) == (holdup, False)
    assert outcome.text == f"{holdup}: {answer.replace(b'|', b' ').decode()}"


@pytest.mark.parametrize("answer", [b"550|5.7.1 Go away", b"553|5.7.1 Not owned", b"501|5.1.7 Bad sender"])
def test_before_a_recipient_is_named_a_refusal_is_the_senders(answer: bytes) -> None:
    outcome = outcome_of_reply(Stage.MAIL, *said(answer))
    assert isinstance(outcome, Temporary)
    assert outcome.holdup is Holdup.SENDER


@pytest.mark.parametrize("answer", [b"554|5.7.1 blocked using zen.spamhaus.org", b"550|5.7.28 Unusual rate"])
def test_before_a_recipient_is_named_a_block_list_is_the_lanes(answer: bytes) -> None:
    outcome = outcome_of_reply(Stage.MAIL, *said(answer))
    assert isinstance(outcome, Temporary)
    assert (outcome.holdup, outcome.stops_lane) == (None, True)


@pytest.mark.parametrize("answer", [b"552|Requested action aborted", b"552|5.2.2 Over quota"])
def test_552_at_the_recipient_is_a_full_mailbox(answer: bytes) -> None:
    outcome = outcome_of_reply(Stage.RCPT, *said(answer))
    assert isinstance(outcome, Permanent)
    assert outcome.meaning is Meaning.FULL


@pytest.mark.parametrize(
    "answer",
    [
        b"421|Too many connections",
        b"450|4.7.1 Too many concurrent sessions",
        b"432|4.3.2 Concurrent connections limit exceeded",
    ],
)
def test_too_many_connections_are_told_apart_from_too_many_letters(answer: bytes) -> None:
    for stage in Stage:
        outcome = outcome_of_reply(stage, *said(answer))
        assert isinstance(outcome, Temporary)
        assert (outcome.crowded, outcome.stops_lane) == (True, True)
    outcome = outcome_of_reply(Stage.RCPT, 421, b"4.7.0 Too many messages")
    assert isinstance(outcome, Temporary)
    assert not outcome.crowded


def test_a_daily_quota_is_the_lanes_and_fails_nobody() -> None:
    outcome = outcome_of_reply(Stage.MESSAGE, 550, b"5.4.5 Daily user sending limit exceeded")
    assert isinstance(outcome, Temporary)
    assert outcome.stops_lane


@given(stages, st.integers(-1, 999), st.binary(max_size=200))
def test_whatever_comes_is_judged_and_only_a_2xx_to_the_message_is_an_arrival(
    stage: Stage, code: int, text: bytes
) -> None:
    outcome = outcome_of_reply(stage, code, text)
    assert isinstance(outcome, Sent) == (stage is Stage.MESSAGE and 200 <= code < 300)
    assert isinstance(outcome, Permanent) <= (500 <= code < 600)
    assert isinstance(outcome, Ambiguous) <= (stage is Stage.MESSAGE)
    assert (outcome is None) <= (stage is not Stage.MESSAGE)
    if outcome is not None and not isinstance(outcome, Sent):
        assert outcome.text.isprintable()
        assert len(outcome.text) < 700
        assert len(getattr(outcome, "status", "")) <= 9
