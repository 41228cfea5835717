"""DMARC: found at the domain or its organization's, parsed, and its effect on our letters.

DKIM keys in the DNS, MX hosts, and reverse DNS.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.email.dkim.keys import record_of
from delivery.doctor.dkim import judge_key, publication, read_key
from delivery.doctor.dmarc import (
    Place,
    aligned,
    dmarc_records,
    find_place,
    include_of,
    judge_alignment,
    judge_policy,
    judge_report_address,
    organisation,
    read_dmarc,
    read_tags,
)
from delivery.doctor.findings import DnsAnswer, DnsStatus, DoctorVerdict, Publish, worst_verdict
from delivery.doctor.hosts import judge_mx, judge_ptr
from tests.delivery.doctor.zones import txt, zone

OURS = record_of(domain="example.org", selector="feedletter", algorithm="rsa", public="MIIB" + "x" * 400)
NONE, FAILED = DnsAnswer(DnsStatus.NONE), DnsAnswer(DnsStatus.FAILED)
GOOD = "v=DMARC1; p=none; rua=mailto:d@example.org"
PIECES = st.sampled_from(["v=DMARC1", "p=", "p=none", "rua=mailto:", "=", ";", "aspf=s", "\x00", "sp=x", ","])


def place(*records: str, domain: str = "example.org", at: str = "") -> Place:
    return Place(domain, at or domain, records)


@pytest.mark.parametrize(
    ("domain", "wanted"),
    [
        ("news.example.org", "example.org"),
        ("a.b.example.co.uk", "example.co.uk"),
        ("Example.ORG.", "example.org"),
        ("co.uk", "co.uk"),
        ("localhost", "localhost"),
        ("", ""),
    ],
)
def test_the_organisation_is_what_somebody_registered(domain: str, wanted: str) -> None:
    assert organisation(domain) == wanted


def test_domains_of_one_organisation_are_aligned_unless_that_is_strict() -> None:
    assert aligned("example.org", "Bounces.Example.org")
    assert not aligned("example.org", "bounces.example.org", strict=True)
    assert aligned("example.org", "example.org", strict=True)
    assert not aligned("one.co.uk", "two.co.uk")


def test_the_record_of_the_domain_goes_before_that_of_its_organisation() -> None:
    both = zone(
        {("_dmarc.a.example.org", "TXT"): [GOOD], ("_dmarc.example.org", "TXT"): ["v=DMARC1; p=reject"]}
    )
    assert find_place("a.example.org", both).records == (GOOD,)
    found = find_place("b.a.example.org", both)
    assert (found.name, found.records) == ("_dmarc.example.org", ("v=DMARC1; p=reject",))


def test_a_missing_record_is_given_to_copy_for_the_organisation() -> None:
    (finding,) = judge_policy(find_place("news.example.org", zone({})))
    assert finding.verdict is DoctorVerdict.WRONG
    assert finding.publish is not None
    assert finding.publish.name == "_dmarc.example.org"
    assert worst_verdict(judge_policy(place(finding.publish.value))) is DoctorVerdict.GOOD


def test_no_answer_is_no_missing_record() -> None:
    found = find_place("example.org", zone({}, failing=["_dmarc.example.org"]))
    assert worst_verdict(judge_policy(found)) is DoctorVerdict.BETTER


@pytest.mark.parametrize(
    ("records", "verdict", "words"),
    [
        ((GOOD,), "good", "p=none"),
        (("v=DMARC1;p=reject;rua=mailto:d@example.org",), "good", "p=reject"),
        (("v=DMARC1; p=none",), "could be better", "rua"),
        ((GOOD, GOOD), "wrong", "2 DMARC records"),
        (("v=DMARC1; p=maybe",), "wrong", "none of"),
        (("v=DMARC1; rua=mailto:d@example.org",), "wrong", "p= is missing"),
        (("v=DMARC1; p=none; p=reject",), "wrong", "twice"),
        (("v=DMARC1; p=none; nonsense",), "wrong", "isn’t a tag"),
        (("v=DMARC1; p=none; aspf=x",), "wrong", "aspf"),
    ],
)
def test_what_a_record_says(records: tuple[str, ...], verdict: str, words: str) -> None:
    findings = judge_policy(place(*records))
    assert worst_verdict(findings) == verdict
    assert words in " ".join(finding.says for finding in findings)


def test_the_policy_for_subdomains_counts_below_the_record() -> None:
    record = "v=DMARC1; p=none; sp=reject; rua=mailto:d@example.org"
    (finding,) = judge_policy(place(record, domain="news.example.org", at="example.org"))
    assert "p=reject" in finding.says


@pytest.mark.parametrize(
    ("record", "envelope", "signers", "others", "verdict"),
    [
        (GOOD, "bounces.example.org", ["example.org"], False, "good"),
        (GOOD, "bounces.elsewhere.example", ["example.org"], False, "could be better"),
        (GOOD, "example.org", [], True, "could be better"),
        (GOOD, "elsewhere.example", [], False, "wrong"),
        (GOOD, "elsewhere.example", [], True, "could be better"),
        (f"{GOOD}; aspf=s; adkim=s", "bounces.example.org", ["news.example.org"], False, "wrong"),
        (f"{GOOD}; aspf=s", "bounces.example.org", ["example.org"], False, "could be better"),
    ],
)
def test_letters_pass_by_return_address_or_signature(
    record: str, envelope: str, signers: list[str], others: bool, verdict: str
) -> None:
    findings = judge_alignment(place(record), envelope=envelope, signers=signers, others_may_sign=others)
    assert worst_verdict(findings) == verdict


def test_reports_to_others_need_their_consent() -> None:
    found = place("v=DMARC1; p=none; rua=mailto:a@example.org,mailto:b@reports.example!10m")
    (finding,) = judge_report_address(found, zone({}))
    assert finding.publish is not None
    agreed = zone({(finding.publish.name, "TXT"): [finding.publish.value]})
    assert judge_report_address(found, agreed) == []


def test_only_records_that_begin_with_the_version_count() -> None:
    assert dmarc_records(["p=none; v=DMARC1", "v=DMARC1", "v = DMARC1 ; p=none", "v=DMARC10"]) == (
        "v=DMARC1",
        "v = DMARC1 ; p=none",
    )


@given(st.one_of(st.text(), st.lists(st.one_of(PIECES, st.text(max_size=8))).map(";".join)))
def test_reading_and_judging_never_raise(text: str) -> None:
    read_tags(text)
    read_dmarc(text)
    for records in ((text,), dmarc_records([text])):
        found = place(*records)
        judge_policy(found)
        judge_report_address(found, zone({}))
        judge_alignment(found, envelope=text, signers=[text], others_may_sign=False)


@given(st.text(), st.text())
def test_no_domain_is_too_odd(one: str, other: str) -> None:
    organisation(one)
    aligned(one, other)


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
