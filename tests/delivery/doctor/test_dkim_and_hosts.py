"""DKIM keys in the DNS, MX hosts, and reverse DNS."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.email.dkim.keys import record_of
from delivery.doctor.dkim import judge_key, publication, read_key
from delivery.doctor.dmarc import include_of
from delivery.doctor.findings import DnsAnswer, DnsStatus, DoctorVerdict, Publish
from delivery.doctor.hosts import judge_mx, judge_ptr
from tests.delivery.doctor.zones import txt

OURS = record_of(domain="example.org", selector="feedletter", algorithm="rsa", public="MIIB" + "x" * 400)
NONE, FAILED = DnsAnswer(DnsStatus.NONE), DnsAnswer(DnsStatus.FAILED)


@pytest.mark.parametrize(
    ("there", "verdict", "words"),
    [
        ([OURS.value], "good", "matches"),
        ([OURS.value.replace("p=", "p= ").replace("xxx", "x x x", 1)], "good", "matches"),
        ([OURS.value.replace("v=DKIM1; k=rsa; ", "")], "good", "matches"),
        ([f"{OURS.value}; t=y"], "could be better", "test"),
        ([], "wrong", "isn’t published"),
        (["v=spf1 -all"], "wrong", "isn’t published"),
        (["v=DKIM1; k=rsa; p="], "wrong", "revoked"),
        (["v=DKIM1; k=rsa; p=MIIBother"], "wrong", "a different key"),
        ([OURS.value.replace("k=rsa", "k=ed25519")], "wrong", "a different key"),
        ([f"{OURS.value}; h=sha1"], "wrong", "sha256"),
        ([f"{OURS.value}; s=tlsrpt"], "wrong", "isn’t for email"),
        ([OURS.value.replace("DKIM1", "DKIM2")], "wrong", "DKIM2"),
        ([OURS.value, OURS.value + ";"], "wrong", "2 records"),
    ],
)
def test_the_record_in_the_dns_is_compared_with_ours(there: list[str], verdict: str, words: str) -> None:
    judged = publication(OURS, "rsa", txt(*there))
    assert judged.verdict == verdict
    assert words in judged.says


def test_no_answer_says_nothing_of_the_key() -> None:
    assert publication(OURS, "rsa", FAILED).verdict is DoctorVerdict.BETTER


def test_a_wrong_key_comes_with_the_record_to_copy() -> None:
    finding = judge_key(OURS, domain="example.org", algorithm="rsa", is_active=True, answer=txt())
    assert finding.verdict is DoctorVerdict.WRONG
    assert finding.publish == Publish(OURS.name, OURS.value)
    assert finding.publish.zone_line.count('"') == 4


def test_a_key_that_waits_need_not_be_published_yet() -> None:
    finding = judge_key(OURS, domain="example.org", algorithm="rsa", is_active=False, answer=txt())
    assert finding.verdict is DoctorVerdict.BETTER


@given(
    st.one_of(st.text(), st.lists(st.sampled_from(["v=", "p=", "t=y:", "h=", "=", "k", "s="])).map(";".join))
)
def test_no_record_is_too_odd(text: str) -> None:
    read_key(text)
    publication(OURS, "rsa", txt(text))


@pytest.mark.parametrize(
    ("mx", "own", "dead", "verdict"),
    [
        (["10 mx.example.org"], [], [], "good"),
        (["10 mx.example.org", "20 old.example.org"], [], ["old.example.org"], "could be better"),
        (["10 mx.example.org"], [], ["mx.example.org"], "wrong"),
        (["0 ."], ["192.0.2.1"], [], "wrong"),
        ([], ["192.0.2.1"], [], "could be better"),
        ([], [], [], "wrong"),
    ],
)
def test_somebody_has_to_take_mail(mx: list[str], own: list[str], dead: list[str], verdict: str) -> None:
    named = {
        each: NONE if each in dead else txt("192.0.2.1") for each in (one.partition(" ")[2] for one in mx)
    }
    finding = judge_mx("example.org", txt(*mx), txt(*own), purpose="replies", without=named)
    assert finding.verdict == verdict


def test_no_answer_about_mx_is_not_nobody() -> None:
    assert judge_mx("example.org", FAILED, NONE, purpose="replies").verdict is DoctorVerdict.BETTER


@pytest.mark.parametrize(
    ("names", "forward", "verdict"),
    [
        (txt("mx.example.org"), {"mx.example.org": ["192.0.2.1"]}, "good"),
        (txt("mx.example.org"), {"mx.example.org": ["192.0.2.2"]}, "wrong"),
        (txt("mx.example.org"), {}, "wrong"),
        (DnsAnswer(DnsStatus.NO_NAME), {}, "wrong"),
        (FAILED, {}, "could be better"),
    ],
)
def test_an_address_has_a_name_that_leads_back(
    names: DnsAnswer, forward: dict[str, list[str]], verdict: str
) -> None:
    assert judge_ptr("192.0.2.1", "1.2.0.192.in-addr.arpa", names, forward).verdict == verdict


def test_providers_are_known_by_the_end_of_their_servers_names() -> None:
    assert include_of("email-smtp.eu-west-1.amazonaws.com") == "amazonses.com"
    assert include_of("smtp.gmail.com.") == "_spf.google.com"
    assert include_of("notsendgrid.net") == include_of("mail.example.org") == ""
