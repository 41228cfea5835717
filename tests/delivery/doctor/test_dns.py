"""DNS look-ups over UDP and TCP, with a time-out, and the kinds of response.

The sending IP addresses, judged by a DNS of the test's own.
"""

import socket
import time
from dataclasses import replace

import pytest
from django.db import transaction

from channels.email.smtp_login import SmtpSettings
from common.transactions import NetworkInTransaction
from delivery.doctor.checks import (
    FromDomain,
    MailRoute,
    check_bounces,
    check_domain,
    check_way,
    is_private,
    route_addresses,
)
from delivery.doctor.dns import Dns, NoResolver, reverse_name
from delivery.doctor.findings import DnsAnswer, DnsStatus, DoctorVerdict, Finding
from tests.delivery.doctor.zones import Zone, zone
from tests.factories import NOW
from tests.servers.dns_server import BROKEN, SILENT, DnsServer

DOMAIN = "sender.example"
FROM = FromDomain(DOMAIN, ("default",), DOMAIN)
OWN = MailRoute("default", SmtpSettings("mail.sender.example", 587), is_ours=True)
PROVIDER = MailRoute("default", SmtpSettings("smtp.sendgrid.net", 587))
HERE = MailRoute("default", SmtpSettings("localhost", 25))
ADDRESSES: Zone = {
    ("mail.sender.example", "A"): ["203.0.113.5"],
    ("mail.sender.example", "AAAA"): ["2001:db8::5"],
    (DOMAIN, "AAAA"): ["2001:db8::1"],
}


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
    for names in ({}, {"": {BROKEN: [""]}}):
        with DnsServer(names) as server:
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


def spf(way: MailRoute, record: str = "", **more: list[str]) -> list[Finding]:
    records: Zone = {**ADDRESSES, **({(DOMAIN, "TXT"): [record]} if record else {})}
    return [one for one in check_domain(FROM, [way], zone(records)) if one.topic == "SPF"]


def published(way: MailRoute, record: str = "") -> list[str]:
    return [one.publish.value for one in spf(way, record) if one.publish is not None]


def test_a_server_of_ones_own_is_named_by_its_addresses() -> None:
    assert published(OWN) == ["v=spf1 ip4:203.0.113.5 ip6:2001:db8::5 ~all"]


def test_a_provider_is_named_by_its_own_record() -> None:
    assert published(PROVIDER) == ["v=spf1 include:sendgrid.net ~all"]


def test_a_server_without_an_address_is_named_itself() -> None:
    unknown = replace(OWN, target=SmtpSettings("gone.example", 25))
    assert published(unknown) == ["v=spf1 a:gone.example ~all"]


def test_what_lacks_is_added_to_the_record_that_is_there() -> None:
    (record,) = published(OWN, "v=spf1 mx include:_spf.other.example ~all")
    assert "mx" in record
    assert "ip4:203.0.113.5" in record


def test_from_a_private_network_an_address_has_to_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("delivery.doctor.checks.public_address", tuple)
    asked = [one for one in spf(HERE, "v=spf1 mx ~all") if "--sending-address" in one.change]
    assert [one.verdict for one in asked] == [DoctorVerdict.BETTER]
    assert route_addresses(replace(HERE, own=("203.0.113.9",)), zone({})) == ("203.0.113.9",)


def test_an_address_in_place_of_a_name_is_taken_as_it_is() -> None:
    way = replace(OWN, target=SmtpSettings("11.22.33.44", 25))
    assert route_addresses(way, zone({})) == ("11.22.33.44",)
    assert [is_private(host) for host in ("10.1.2.3", "db", "mail.lan")] == [True] * 3
    assert [is_private(host) for host in ("11.22.33.44", "mail.example")] == [False] * 2


def test_a_way_that_leads_nowhere_says_why() -> None:
    (found,) = check_way(MailRoute("default", None, trouble="EMAIL_URL has no host."), zone({}), now=NOW)
    assert (found.verdict, found.says) == (DoctorVerdict.WRONG, "EMAIL_URL has no host.")


def test_bounces_go_to_a_domain_that_takes_mail() -> None:
    taken: Zone = {("b.example", "MX"): ["10 mx.b.example"], ("mx.b.example", "A"): ["203.0.113.5"]}
    (good,) = check_bounces("b.example", zone(taken))
    (wrong,) = check_bounces("b.example", zone({}))
    assert (good.verdict, wrong.verdict) == (DoctorVerdict.GOOD, DoctorVerdict.WRONG)
