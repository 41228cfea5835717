"""SPF: evaluated as receivers do (RFC 7208), look-ups counted, and judged."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from delivery.doctor.findings import DoctorVerdict, Finding, worst_verdict
from delivery.doctor.spf import judge_record, judge_sender, proposal
from delivery.doctor.spf_tree import Node, Tree, check_host, read_spf, spf_records
from tests.delivery.doctor.zones import Zone, zone

HERE = "192.0.2.7"
WORDS = st.one_of(
    st.sampled_from(["v=spf1", "+all", "-all", "a", "a:", "mx//", "include:example.org", "ip4:", "ip6:::/0"]),
    st.sampled_from(["ip4:1.2.3.4/99", "redirect=", "exists:%{ir}.%{v}", "ptr:", "=", "exp=", "?", "\x00"]),
)


def node(*records: str, more: Zone | None = None, failing: tuple[str, ...] = ()) -> Node:
    known: Zone = {("example.org", "TXT"): records, **(more or {})}
    return Tree(zone(known, failing=failing)).node("example.org")


def judged(*records: str, more: Zone | None = None, failing: tuple[str, ...] = ()) -> list[Finding]:
    found = node(*records, more=more, failing=failing)
    return judge_record(found, suggestion="v=spf1 ip4:192.0.2.7 ~all")


def said(findings: list[Finding]) -> str:
    return " ".join(finding.says for finding in findings)


@pytest.mark.parametrize(
    ("record", "result"),
    [
        ("v=spf1 ip4:192.0.2.0/24 -all", "pass"),
        ("v=spf1 ip4:192.0.2.7 -all", "pass"),
        ("V=SPF1 IP4:192.0.2.7 -ALL", "pass"),
        ("v=spf1 ip4:198.51.100.0/24 -all", "fail"),
        ("v=spf1 ~all", "softfail"),
        ("v=spf1 ?all", "neutral"),
        ("v=spf1", "neutral"),
        ("v=spf1 +all", "pass"),
        ("v=spf1 -ip4:192.0.2.7 +all", "fail"),
        ("v=spf1 ip6:2001:db8::/32 -all", "fail"),
        ("v=spf1 a -all", "pass"),
        ("v=spf1 a:mail.example.org -all", "pass"),
        ("v=spf1 a:far.example.org/24 -all", "pass"),
        ("v=spf1 a:far.example.org/24//64 -all", "pass"),
        ("v=spf1 a:far.example.org -all", "fail"),
        ("v=spf1 mx -all", "pass"),
        ("v=spf1 include:good.example -all", "pass"),
        ("v=spf1 include:bad.example -all", "fail"),
        ("v=spf1 include:nothing.example -all", "permerror"),
        ("v=spf1 redirect=good.example", "pass"),
        ("v=spf1 -all redirect=good.example", "fail"),
        ("v=spf1 redirect=nothing.example", "none"),
        ("v=spf1 exists:%{i}.spf.example -all", "fail"),
        ("v=spf1 exp=why.example.org ip4:192.0.2.7 -all", "pass"),
        ("v=spf1 nonsense -all", "permerror"),
        ("v=spf1 ip4:192.0.2.300 -all", "permerror"),
        ("v=spf1 ip4:2001:db8::1 -all", "permerror"),
        ("v=spf1 a/33 -all", "permerror"),
        ("v=spf1 include: -all", "permerror"),
    ],
)
def test_what_a_record_says_of_an_address(record: str, result: str) -> None:
    more: Zone = {
        ("example.org", "A"): [HERE],
        ("example.org", "MX"): ["10 mail.example.org"],
        ("mail.example.org", "A"): [HERE],
        ("far.example.org", "A"): ["192.0.2.200"],
        ("good.example", "TXT"): ["v=spf1 ip4:192.0.2.7 ?all"],
        ("bad.example", "TXT"): ["v=spf1 -all"],
    }
    assert check_host(node(record, more=more), HERE) == result


def test_ipv6_addresses_match_their_networks() -> None:
    found = node("v=spf1 ip6:2001:db8::/32 a//64 -all", more={("example.org", "AAAA"): ["2001:db9::1"]})
    assert [check_host(found, each) for each in ("2001:db8::5", "2001:db9::99", "2001:dba::1")] == [
        "pass",
        "pass",
        "fail",
    ]


def test_only_records_of_the_version_count() -> None:
    texts = ["v=spf1", "v=spf1 -all", "v=spf10 -all", "v=spf1-all", "google-site-verification=x"]
    assert spf_records(texts) == ["v=spf1", "v=spf1 -all"]


def test_questions_are_counted_through_all_that_is_included() -> None:
    more: Zone = {
        ("one.example", "TXT"): ["v=spf1 a:h.example mx:h.example include:two.example ~all"],
        ("two.example", "TXT"): ["v=spf1 exists:%{i}.x.example ptr ip4:192.0.2.1 redirect=three.example"],
        ("three.example", "TXT"): ["v=spf1 ip4:192.0.2.1 -all"],
    }
    # include, its a, mx and include, that one's exists, ptr and redirect.
    assert node("v=spf1 include:one.example -all", more=more).lookups == 7


@pytest.mark.parametrize(("count", "verdict"), [(9, "good"), (10, "could be better"), (11, "wrong")])
def test_more_than_ten_questions_are_too_many(count: int, verdict: str) -> None:
    names = [f"h{number}.example" for number in range(count)]
    record = " ".join(["v=spf1", *(f"a:{name}" for name in names), "-all"])
    assert worst_verdict(judged(record, more={(name, "A"): [HERE] for name in names})) == verdict


def test_a_good_record_is_good() -> None:
    (finding,) = judged("v=spf1 ip4:192.0.2.7 -all")
    assert (finding.verdict, finding.found) == (DoctorVerdict.GOOD, ("v=spf1 ip4:192.0.2.7 -all",))


def test_a_missing_record_is_given_to_copy() -> None:
    (finding,) = judged()
    assert finding.verdict is DoctorVerdict.WRONG
    assert finding.publish is not None
    assert (finding.publish.name, finding.publish.value) == ("example.org", "v=spf1 ip4:192.0.2.7 ~all")


def test_a_server_that_does_not_answer_is_no_missing_record() -> None:
    (finding,) = judged(failing=("example.org",))
    assert (finding.verdict, finding.publish) == (DoctorVerdict.BETTER, None)


@pytest.mark.parametrize(
    ("records", "verdict", "words"),
    [
        (("v=spf1 -all", "v=spf1 mx -all"), "wrong", "2 SPF records"),
        (("v=spf1 +all",), "wrong", "anyone send for this domain"),
        (("v=spf1 all",), "wrong", "anyone send for this domain"),
        (("v=spf1 ?all",), "could be better", "is neutral"),
        (("v=spf1 ip4:192.0.2.7",), "could be better", "It doesn’t end"),
        (("v=spf1 ptr -all",), "could be better", "ptr"),
        (("v=spf1 include:nothing.example -all",), "wrong", "no SPF record"),
        (("v=spf1 include:loop.example -all",), "wrong", "recursively"),
        (("v=spf1 include:slow.example -all",), "could be better", "No name server"),
        (("v=spf1 a:x.example a:y.example a:z.example -all",), "could be better", "no address"),
        (("v=spf1 ip4:nowhere -all",), "wrong", "no IP address"),
        (("v=spf1 redirect=good.example",), "good", "1 of 10"),
    ],
)
def test_what_is_wrong_is_said(records: tuple[str, ...], verdict: str, words: str) -> None:
    more: Zone = {
        ("loop.example", "TXT"): ["v=spf1 include:example.org -all"],
        ("good.example", "TXT"): ["v=spf1 ip4:192.0.2.7 -all"],
    }
    findings = judged(*records, more=more, failing=("slow.example",))
    assert worst_verdict(findings) == verdict
    assert words in said(findings)


def test_a_record_that_names_itself_a_thousand_times_is_given_up() -> None:
    more: Zone = {
        (f"d{number}.example", "TXT"): [
            "v=spf1 "
            + " ".join(f"include:d{(number * 7 + each) % 40}.example" for each in range(20))
            + " -all"
        ]
        for number in range(40)
    }
    found = node("v=spf1 include:d1.example -all", more=more)
    assert worst_verdict(judge_record(found, suggestion="v=spf1 -all")) is DoctorVerdict.WRONG
    check_host(found, HERE)


def sender(record: str, *, is_own: bool, provider: str = "") -> Finding | None:
    return judge_sender(
        node(record, more={("p.example", "TXT"): ["v=spf1 ip4:198.51.100.0/24 -all"]}),
        addresses=[HERE],
        server="mail.example.org:587",
        is_own=is_own,
        provider=provider,
    )


def test_our_own_server_has_to_be_named() -> None:
    good, wrong = sender("v=spf1 ip4:192.0.2.7 -all", is_own=True), sender("v=spf1 mx -all", is_own=True)
    assert good is not None
    assert wrong is not None
    assert (good.verdict, wrong.verdict) == (DoctorVerdict.GOOD, DoctorVerdict.WRONG)


def test_a_provider_may_send_from_other_addresses_than_it_takes_letters_at() -> None:
    finding = sender("v=spf1 mx -all", is_own=False)
    assert finding is not None
    assert finding.verdict is DoctorVerdict.BETTER


@pytest.mark.parametrize(
    ("record", "verdict"), [("v=spf1 include:p.example -all", "good"), ("v=spf1 -all", "wrong")]
)
def test_a_known_provider_has_to_be_included(record: str, verdict: str) -> None:
    finding = sender(record, is_own=False, provider="p.example")
    assert finding is not None
    assert finding.verdict == verdict


@pytest.mark.parametrize(
    ("record", "wanted"),
    [
        ("v=spf1 mx -all", "v=spf1 mx a:x -all"),
        ("v=spf1 mx", "v=spf1 mx a:x ~all"),
        ("v=spf1 +all", "v=spf1 a:x ~all"),
        ("v=spf1 ?all mx", "v=spf1 mx a:x ~all"),
        ("v=spf1 include:good.example include:gone.example -all", "v=spf1 include:good.example a:x -all"),
        ("v=spf1 A:X exp=why.example -all", "v=spf1 A:X exp=why.example -all"),
        ("v=spf1 redirect=good.example", "v=spf1 a:x redirect=good.example"),
    ],
)
def test_the_record_to_publish_has_all_that_is_asked_for_and_nothing_that_is_broken(
    record: str, wanted: str
) -> None:
    more: Zone = {("good.example", "TXT"): ["v=spf1 -all"], ("x", "A"): [HERE]}
    assert proposal(node(record, more=more), ["a:x"]).value == wanted
    again = judged(proposal(node(record, more=more), ["a:x"]).value, more=more)
    assert worst_verdict(again) is DoctorVerdict.GOOD


def test_what_is_included_in_vain_hides_nothing_else() -> None:
    finding = sender("v=spf1 include:gone.example ip4:192.0.2.7 -all", is_own=True)
    assert finding is not None
    assert finding.verdict is DoctorVerdict.GOOD


def test_who_may_send_only_because_everybody_may_is_not_named() -> None:
    finding = sender("v=spf1 +all", is_own=True)
    assert finding is not None
    assert finding.verdict is DoctorVerdict.WRONG


@given(st.one_of(st.text(), st.lists(st.one_of(WORDS, st.text(max_size=9)), max_size=30).map(" ".join)))
def test_reading_and_judging_never_raise(text: str) -> None:
    read_spf(text)
    found = node(f"v=spf1 {text}", more={("example.org", "A"): [HERE], ("example.org", "MX"): ["1 ."]})
    judge_record(found, suggestion="v=spf1 -all")
    for address in (HERE, "2001:db8::1"):
        assert check_host(found, address) in ("pass", "fail", "softfail", "neutral", "none", "permerror")
    judge_sender(found, addresses=[HERE], server="s", is_own=True)
    proposal(found, ["a:x"])
