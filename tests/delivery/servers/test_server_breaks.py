"""Servers that disconnect, fall silent or send nonsense, at every stage."""

from collections.abc import Callable
from typing import Any

import pytest

from delivery.models import Attempt, Bounce, Delivery, Lane
from tests.delivery.answered import LATER, a_letter, after, impatient, put_off, send, slowed, untouched
from tests.delivery.ledger import a_lane, queued, states
from tests.examples import some_now
from tests.factories import NOW, IssueFactory
from tests.servers.raw_smtp import RawServer, Reply
from tests.servers.smtp_server import SmtpServer

pytestmark = [pytest.mark.django_db(transaction=True)]
# Unmarked tests use this process's loop: the child process has the same protocol code.
in_either_process = pytest.mark.usefixtures("_either_sender")
__all__ = ["impatient"]

BEFORE = ("CONNECT", "EHLO")
DURING = ("MAIL", "RCPT", "DATA")
PIPELINING = b"250-mx.example.test\r\n250 PIPELINING\r\n"
OFFERS = {"plain": b"250 mx.example.test\r\n", "pipelining": PIPELINING}

Serve = Callable[..., RawServer]
NONSENSE = [
    b"HTTP/1.1 400 Bad Request\r\n",
    b"\r\n",
    b"250\xff\x00\r\n",
    b"x" * 70_000,
    b"250-on\r\n" * 20_000,
]


@pytest.fixture
def serve(settings: Any) -> Any:
    """Yield a function that runs a server with a script, and points EMAIL_URL at it."""
    servers = []

    def made(script: dict[str, Reply | Callable[[str], Reply]], **options: Any) -> RawServer:
        server = RawServer(script, **options)
        servers.append(server)
        settings.EMAIL_URL = server.url
        return server.__enter__()

    yield made
    for server in servers:
        server.__exit__(None, None, None)


def arrives_on_the_next_try(settings: Any, row: Delivery) -> bool:
    with SmtpServer() as well:
        settings.EMAIL_URL = well.url
        return send(LATER).sent == 1 and well.recipients == [row.destination.core]


# --- disconnected


@pytest.mark.parametrize("verb", some_now(BEFORE))
def test_a_connection_lost_before_the_first_message_is_the_lanes(
    serve: Serve, verb: str, settings: Any
) -> None:
    row = a_letter()
    serve({verb: None})
    send()
    assert untouched(row)
    assert "closed the connection" in Lane.objects.get().last_error
    assert arrives_on_the_next_try(settings, row)


@pytest.mark.parametrize("offer", some_now(OFFERS.values()), ids=OFFERS)
@pytest.mark.parametrize("verb", some_now(DURING))
def test_a_connection_lost_in_the_envelope_puts_off_that_letter(
    serve: Serve, verb: str, offer: bytes, settings: Any
) -> None:
    row = a_letter()
    serve({"EHLO": offer, verb: None})
    send()
    assert put_off(row)
    assert after(row).begun_at is None
    assert "connection was lost" in after(row).last_error
    assert arrives_on_the_next_try(settings, row)


@pytest.mark.slow
@in_either_process
def test_a_connection_lost_within_the_data_is_no_arrival(serve: Serve, settings: Any) -> None:
    row = a_letter(issue=IssueFactory(text="A line of a very long letter.\n" * 250_000))
    serve({}, hangs_up_within_data=True)
    send()
    assert put_off(row)
    assert after(row).begun_at is None
    assert arrives_on_the_next_try(settings, row)


@in_either_process
def test_a_connection_lost_after_the_dot_may_be_an_arrival(serve: Serve, settings: Any) -> None:
    row = a_letter()
    server = serve({".": None})
    send()
    assert put_off(row)
    assert after(row).begun_at == NOW
    assert arrives_on_the_next_try(settings, row)
    # A duplicate has the same Message-ID, by which mailboxes detect it.
    assert f".{row.pk}@".encode() in server.data[0]


@in_either_process
def test_a_connection_lost_between_two_letters_costs_nothing(serve: Serve) -> None:
    a_lane(concurrency=1)
    queued(2)
    server = serve({}, hangs_up_after=".")
    assert send().sent == 2
    assert (server.verbs.count("CONNECT"), len(server.data)) == (2, 2)
    assert not Attempt.objects.exists()


# --- silent


@pytest.mark.parametrize("verb", some_now(BEFORE))
@pytest.mark.usefixtures("impatient")
def test_a_server_that_is_silent_at_first_is_left_and_the_lane_rests(
    serve: Serve, verb: str, settings: Any
) -> None:
    row = a_letter()
    serve({verb: b""})
    send()
    assert untouched(row)
    assert "didn’t answer in time" in Lane.objects.get().last_error
    assert arrives_on_the_next_try(settings, row)


@pytest.mark.parametrize("offer", some_now(OFFERS.values()), ids=OFFERS)
@pytest.mark.parametrize("verb", some_now([*DURING, "."]))
@pytest.mark.usefixtures("impatient")
def test_a_server_that_falls_silent_is_left_and_the_letter_put_off(
    serve: Serve, verb: str, offer: bytes, settings: Any
) -> None:
    row = a_letter()
    said = [*DURING, "."]
    serve({"EHLO": offer, **dict.fromkeys(said[said.index(verb) :], b"")})
    send()
    assert put_off(row)
    assert "didn’t answer in time" in after(row).last_error
    assert after(row).begun_at == (NOW if verb == "." else None)
    assert arrives_on_the_next_try(settings, row)


@pytest.mark.usefixtures("impatient")
@in_either_process
def test_a_server_that_trickles_is_left_in_time(serve: Serve) -> None:
    row = a_letter()
    serve({"RCPT": b"250-still thinking\r\n"})
    send()
    assert put_off(row)


# --- nonsense


@pytest.mark.parametrize("verb", some_now(BEFORE))
@pytest.mark.parametrize("reply", some_now(NONSENSE), ids=range(len(NONSENSE)))
def test_what_is_no_smtp_at_first_is_the_lanes(serve: Serve, verb: str, reply: bytes) -> None:
    row = a_letter()
    serve({verb: reply, "HELO": reply}, patience=2)
    send()
    assert untouched(row)
    assert Lane.objects.get().last_error.isprintable()


@pytest.mark.parametrize("verb", some_now(DURING))
@pytest.mark.parametrize("number", some_now(range(len(NONSENSE))))
def test_what_is_no_smtp_puts_off_the_letter(serve: Serve, verb: str, number: int) -> None:
    row = a_letter()
    offer = list(OFFERS.values())[number % 2]
    serve({"EHLO": offer, verb: NONSENSE[number]}, patience=2)
    send()
    assert put_off(row)
    assert after(row).last_error.isprintable()
    assert len(after(row).last_error) < 800


@pytest.mark.parametrize(
    "reply", some_now([*NONSENSE, b"354 go on\r\n", b"25"]), ids=range(len(NONSENSE) + 2)
)
@pytest.mark.usefixtures("impatient")
def test_an_answer_to_the_message_that_is_none_may_be_an_arrival(serve: Serve, reply: bytes) -> None:
    row = a_letter()
    serve({".": reply})
    send()
    assert put_off(row)
    assert after(row).begun_at == NOW


def test_a_reply_of_many_lines_is_one_reply(serve: Serve) -> None:
    a_letter()
    many = b"".join(b"250-line %d\r\n" % number for number in range(2000)) + b"250 end\r\n"
    server = serve(dict.fromkeys(("EHLO", "MAIL", "RCPT", "."), many))
    assert send().sent == 1
    assert len(server.data) == 1
    assert len(Delivery.objects.get().remote_id) <= 255


@in_either_process
def test_a_refusal_of_64_kb_is_kept_short(serve: Serve) -> None:
    row = a_letter()
    lines = b"550-5.1.1 " + b"no " * 300 + b"\r\n"
    serve({"RCPT": lines * 70 + b"550 5.1.1 end\r\n"})
    assert send().failed == 1
    assert len(after(row).last_error) <= 500
    assert Bounce.objects.get().status == "5.1.1"


# --- pipelining


@in_either_process
def test_answers_in_one_packet_are_told_apart(serve: Serve) -> None:
    a_lane(concurrency=1)
    rows = queued(3)
    bad = rows[1].destination.core
    server = serve(
        {"EHLO": PIPELINING, "RCPT": lambda line: b"550 No\r\n" if bad in line else b"250 ok\r\n"},
        in_one_packet=True,
    )
    report = send()
    assert (report.sent, report.failed) == (2, 1)
    assert after(rows[1]).state == "failed"
    assert len([data for data in server.data if data]) == 2


def test_a_refused_sender_leaves_the_dialogue_in_step(serve: Serve) -> None:
    """All later commands are refused as out of order; that fails no letter."""
    a_lane(concurrency=1)
    rows = queued(2)
    is_refused = iter([True, False, False])
    state = {"out": False}

    def mail(line: str) -> bytes:
        state["out"] = next(is_refused)
        return b"451 4.3.0 Not now\r\n" if state["out"] else b"250 ok\r\n"

    def then(reply: bytes) -> Callable[[str], bytes]:
        return lambda line: b"503 5.5.1 Bad sequence\r\n" if state["out"] else reply

    server = serve(
        {"EHLO": PIPELINING, "MAIL": mail, "RCPT": then(b"250 ok\r\n"), "DATA": then(b"354 go on\r\n")},
        in_one_packet=True,
    )
    report = send()
    assert (report.sent, report.deferred, report.failed) == (1, 1, 0)
    assert sorted(Delivery.objects.values_list("state", flat=True)) == ["deferred", "sent"]
    assert len(server.data) == 1
    assert {after(row).last_error for row in rows} == {"451 4.3.0 Not now", ""}


def test_a_server_that_wants_data_after_it_refused_the_recipient_gets_an_empty_one(serve: Serve) -> None:
    a_lane(concurrency=1)
    rows = queued(2)
    bad = rows[0].destination.core
    server = serve(
        {"EHLO": PIPELINING, "RCPT": lambda line: b"550 5.1.1 No\r\n" if bad in line else b"250 ok\r\n"},
        in_one_packet=True,
    )
    report = send()
    assert (report.sent, report.failed) == (1, 1)
    assert [data for data in server.data if bad.encode() in data] == []
    assert len([data for data in server.data if data]) == 1


@pytest.mark.parametrize("verb", some_now(DURING))
def test_421_in_the_middle_of_a_pipeline_slows_the_lane_and_loses_nothing(
    serve: Serve, verb: str, settings: Any
) -> None:
    row = a_letter()
    serve({"EHLO": PIPELINING, verb: b"421 4.7.0 Slow down\r\n"}, in_one_packet=True, hangs_up_after=verb)
    send()
    assert slowed(row)
    assert states() == {"deferred": 1}
    assert arrives_on_the_next_try(settings, row)
