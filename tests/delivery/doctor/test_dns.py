"""DNS look-ups over UDP and TCP, with a time-out, and the kinds of response."""

import socket
import time

import pytest
from django.db import transaction

from common.transactions import NetworkInTransaction
from delivery.doctor.dns import Dns, NoResolver, reverse_name
from delivery.doctor.findings import DnsAnswer, DnsStatus
from tests.servers.dns_server import BROKEN, SILENT, DnsServer


def dns(server: DnsServer) -> Dns:
    return Dns([server.address], seconds=1.0)


def test_records_become_text() -> None:
    zone = {
        "example.org": {
            "TXT": ["b", "a"],
            "MX": ["10 mx.example.org."],
            "A": ["192.0.2.1"],
            "AAAA": ["2001:db8::1"],
        },
        "1.2.0.192.in-addr.arpa": {"PTR": ["mx.example.org."]},
        "none.example.org": {"MX": ["0 ."]},
    }
    with DnsServer(zone) as server:
        ask = dns(server)
        assert ask("example.org", "TXT") == DnsAnswer(DnsStatus.FOUND, ("a", "b"))
        assert ask("example.org", "MX").records == ("10 mx.example.org",)
        assert ask("none.example.org", "MX").records == ("0 .",)
        assert ask("example.org", "A").records + ask("example.org", "AAAA").records == (
            "192.0.2.1",
            "2001:db8::1",
        )
        assert ask(reverse_name("192.0.2.1"), "PTR").records == ("mx.example.org",)


@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("example.org", DnsStatus.NONE),
        ("nowhere.example", DnsStatus.NO_NAME),
        ("broken.example", DnsStatus.FAILED),
        ("silent.example", DnsStatus.FAILED),
        ("a..b", DnsStatus.FAILED),
        ("x" * 70 + ".example", DnsStatus.FAILED),
        ("\udcff.example", DnsStatus.FAILED),
        ("", DnsStatus.NONE),
    ],
)
def test_no_record_no_name_and_no_answer_are_three_things(name: str, status: DnsStatus) -> None:
    zone = {
        "example.org": {"A": ["192.0.2.1"]},
        "broken.example": {BROKEN: [""]},
        "silent.example": {SILENT: [""]},
    }
    with DnsServer(zone) as server:
        assert dns(server)(name, "TXT").status is status


def test_what_is_too_long_for_a_datagram_comes_over_tcp() -> None:
    long = "v=DKIM1; p=" + "x" * 1500
    with DnsServer({"example.org": {"TXT": [long]}}) as server:
        assert dns(server)("example.org", "TXT").records == (long,)
        assert server.asked == [("example.org", "TXT")] * 2


def test_a_question_is_asked_once() -> None:
    with DnsServer({"example.org": {"TXT": ["a"]}}) as server:
        ask = dns(server)
        assert ask("example.org", "TXT") == ask("example.org", "TXT")
        assert len(server.asked) == 1


def test_a_server_that_says_anything_is_reachable() -> None:
    for zone in ({}, {"": {BROKEN: [""]}}):
        with DnsServer(zone) as server:
            dns(server).be_reachable()


def test_nobody_there_is_one_sentence_within_the_time() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as deaf:
        deaf.bind(("127.0.0.1", 0))
        began = time.monotonic()
        with pytest.raises(NoResolver, match="No name server responds here"):
            Dns([deaf.getsockname()], seconds=0.3).be_reachable()
        assert time.monotonic() - began < 3


@pytest.mark.django_db
def test_nothing_is_asked_inside_a_transaction() -> None:
    with DnsServer() as server, transaction.atomic(), pytest.raises(NetworkInTransaction):
        dns(server)("example.org", "TXT")
