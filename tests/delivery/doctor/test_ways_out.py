"""The sending IP addresses, judged by a DNS of the test's own."""

from dataclasses import replace

import pytest

from channels.email.smtp_login import SmtpSettings
from delivery.doctor.checks import (
    FromDomain,
    MailRoute,
    check_bounces,
    check_domain,
    check_way,
    is_private,
    route_addresses,
)
from delivery.doctor.findings import DoctorVerdict, Finding
from tests.delivery.doctor.zones import Zone, zone
from tests.factories import NOW

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
