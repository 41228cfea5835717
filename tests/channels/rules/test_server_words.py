"""The meaning of servers' error messages: each class in the words of several servers.

When refusals pause a domain, and when the newsletter.
Refusals are counted by the minute, and expire.
"""

import time
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.rules.breakers import Breaker, Recent, is_too_much, with_refusals
from channels.rules.meaning import Concern, Meaning
from channels.rules.refusals import (
    LAST_LETTERS,
    Answers,
    doubts_us,
    is_about_identity,
    is_refusal,
    large,
    refuses,
    stops_newsletter,
)
from channels.rules.server_phrases import LIKELY, SURE, VAGUE
from channels.rules.server_words import MOST_SERVER_WORDS, meaning, precise
from delivery.rules.bounce_policy import kind_of
from tests.factories import NOW

TEN_MINUTES = timedelta(minutes=10)
BREAKER = Breaker("x", "X", refusals=20, within=TEN_MINUTES, why="")
# The effect of each on the reader, and the sentence.
SENTENCES = (Path(__file__).parents[2] / "fixtures" / "server_sentences.txt").read_text()
SAID = {
    Meaning.NO_ADDRESS: [
        "550 5.1.1 <ada@example.org>: Recipient address rejected: User unknown in virtual mailbox table",
        "550 No such user here",
        "550 5.1.1 <ada@example.org>... User unknown",
        "550 sorry, no mailbox here by that name (#5.1.1 - chkusr)",
        "554 delivery error: dd This user doesn't have a example.org account (ada@example.org) [0]",
        "550 5.4.1 Recipient address rejected: Access denied. [DB5EUR01FT012.eop-EUR01.prod.example.com]",
        "550-5.1.1 The email account that you tried to reach does not exist. Please try double-checking it",
        "550 5.1.10 RESOLVER.ADR.RecipientNotFound; Recipient not found by SMTP address lookup",
        "User Ada (ada@example.org) not listed in Domino Directory",
        "550 Requested action not taken: mailbox unavailable",
        "550 5.7.1 <ada@example.org>: Recipient address rejected: User unknown",
        "550 5.2.1 <ada@example.org>... User Unknown",
        "553 5.3.0 <ada@example.org>... No such user here",
        "550 5.1.1 Adresse d au moins un destinataire invalide. Invalid recipient. OFR_416 [416]",
        "550 #5.1.0 Address rejected.",
        "550 Benutzer ada existiert nicht",
        "550 El usuario no existe",
        "ユーザー Ada は Domino ディレクトリには見つかりません",
        "550 5.5.0 Invalid recipient. 554 5.5.1 Error: no valid recipients 421 4.7.0 Error: too many errors",
    ],
    Meaning.NO_HOST: [
        "Host or domain name not found. Name service error for name=gone.example type=AAAA: Host not found",
        "550 5.1.2 <ada@gone.example>... Host unknown (Name server: .: host not found)",
        "Sorry, I couldn't find any host named gone.example. (#5.1.2)",
        "Unrouteable address",
        "556 5.1.10 Recipient address has null MX",
        "Domain gone.example does not accept mail (nullMX)",
        "an MX or SRV record indicated no SMTP service",
        "No MX found for domain",
        "Error Type: DNS Error Description: No mail servers appear to exists for the recipients address.",
        "There is no mail server for this domain",
        "No valid mail exchanger for gone.example",
        "498 No MX for gone.example",
        "550 5.1.2 Recipient address rejected: Domain not found",
    ],
    Meaning.CLOSED: [
        "550 5.2.1 The email account that you tried to reach is disabled.",
        "554 dd Sorry your message cannot be delivered. This account has been disabled [#102]",
        "550 Mailbox is frozen.",
        "525 5.7.13 Disabled recipient address",
        "550 5.5.0 Le compte du destinataire est bloque. The recipient account is blocked. LPN007_426",
    ],
    Meaning.FULL: [
        "552 5.2.2 <ada@example.org> Quota exceeded (mailbox for user is full)",
        "550 5.1.1 mailbox full",
        "552 sorry, mailbox <ada@example.org> is over quota temporarily (#5.1.1)",
        "552-5.2.2 The recipient's inbox is out of storage space and inactive.",
        "450 4.2.2 <ada@example.org>... Mailbox Full",
        "User mailbox exceeds allowed size: <ada@example.org>",
        "450-4.2.1 The user you are trying to contact is receiving mail too quickly",
        "550 5.2.2 STOREDRV.Deliver: mailbox full. MapiExceptionShutoffQuotaExceeded",
        "5.1.0 - Unknown address error '5.2.2 <ada@example.org>... Mailbox Full' (delivery attempts: 0)",
        "552 Postfach voll",
    ],
    Meaning.SENDER: [
        "553 5.7.1 <news@example.com>: Sender address rejected: not owned by user mailer",
        "550 5.1.0 <news@example.com> sender rejected. See our page on error codes",
        "553 5.1.8 <news@example.com>... Domain of sender address news@example.com does not exist",
        "host mx.example.org[192.0.2.1] said: 554 Transaction failed (in reply to MAIL FROM command)",
        "SMTP error from remote mail server after MAIL FROM:<news@example.com>: 553 no such domain",
        "550 Unauthenticated senders not allowed",
        "550 5.1.0 192.0.2.9 is not allowed to send from <example.com>",
        "550 5.1.0 mail from: <news@example.com> refused",
        "501 5.1.7 bad address",
        "550 Sender's domain does not exist",
        "550 Unknown sender address",
        "553 Die Absenderadresse existiert nicht",
        "550 From address not found",
        "550 5.1.8 no such domain",
    ],
    Meaning.IDENTITY: [
        "550-5.7.26 Unauthenticated email from example.com is not accepted due to domain's DMARC policy.",
        "550 5.7.1 Email rejected per SPF policy",
        "554 5.7.1 Reverse DNS lookup for host 192.0.2.9 failed permanently.",
        "571 No PTR Record found. Reverse DNS required: 192.0.2.9",
        "450 4.7.1 Access denied. IP name lookup failed [192.0.2.9]",
        "550 5.7.515 Access denied, sending domain EXAMPLE.COM doesn't meet the required level",
        "550 5.7.25 The address has no such record",
        "550 5.7.27 Host does not accept mail",
    ],
    Meaning.BLOCKED: [
        "554 5.7.1 Service unavailable; Client host [192.0.2.9] blocked using zen.spamhaus.org",
        "550 5.1.1 undeliverable address: host mx.far[192.0.2.7] said: 550 5.7.1 blocked using Spamhaus",
        "553 http://www.spamhaus.org/query/bl?ip=192.0.2.9",
        "550 5.7.606 Access denied, banned sending IP [192.0.2.9]",
        "550 5.7.1 IP address blacklisted by recipient",
        "host mx.example.org[192.0.2.1] refused to talk to me: 554 Blocked - see our support page",
        "550-5.7.1 likely suspicious due to the very low reputation of the sending IP address",
        "550 Your account has been suspended",
        "554 Your domain does not exist",
        "550 5.1.1 RCP-P2 Refused due to recipient preferences",
        "550 SC-001 (COL0-MC1-F1) Unfortunately, messages from 192.0.2.9 weren't sent.",
    ],
    Meaning.RELAY: [
        "554 5.7.1 <ada@example.org>: Relay access denied",
        "550 5.7.1 Unable to relay",
        "550 5.7.1 Relaying denied. Proper authentication required",
        "553 sorry, that domain isn't in my list of allowed rcpthosts (#5.7.1)",
    ],
    Meaning.LOGIN: [
        "530 5.7.0 Authentication required",
        "550 5.7.1 Please authenticate before you send",
        "535 no",
    ],
    Meaning.RATE: [
        "550 5.1.1 <ada@example.org> - 192.0.2.9 has sent to too many recipients this hour. IB607",
        "421 4.7.0 [TSS04] Messages from 192.0.2.9 temporarily deferred due to unexpected volume",
        "452 4.3.2 Connection rate limit exceeded.",
        "421 too many concurrent SMTP connections",
        "550 5.4.5 Daily sending quota exceeded for this account",
        "421-4.7.28 Our system has noticed something",
        "550 Ip frequency limited",
    ],
    Meaning.POLICY: [
        "554 5.7.9 Message not accepted for policy reasons.",
        "550 5.7.1 <ada@example.org>: Access denied",
        "550 Denied by policy",
        "550 This server does not accept mail from dynamic hosts; access denied",
        "554 5.7.1 <ada@example.org>: Recipient address rejected: Access denied",
        "5.1.0 - Unknown address error '5.7.1 <ada@example.org>... Access denied' (delivery attempts: 0)",
        "5.1.0 - Unknown address error 550-'5.7.1 <ada@example.org>... Access denied' (delivery attempts: 0)",
        "550 5.7.1 RESOLVER.RST.AuthRequired; authentication required ##rfc822;ada@example.org",
    ],
    Meaning.SIZE: [
        "552 5.3.4 Message size exceeds fixed maximum message size (10485760)",
        "552 5.2.3 no",
        "552 no",
        "550 5.2.3 RESOLVER.RST.RecipSizeLimit; message too large for this recipient",
    ],
    Meaning.CONTENT: [
        "554 5.7.1 Message content rejected, UBE, id=00000-22-225",
        "550 Virus Detected; Content Rejected (in reply to end of DATA command)",
        "554 5.7.0 Reject, id=20025-09 - SPAM",
        "550 5.7.1 Messages with multiple addresses in From: header are not accepted.",
        "500 5.6.1 no",
    ],
    Meaning.AWAY: [
        "450 4.1.1 <ada@example.org>: Recipient address rejected: User unknown in virtual alias table",
        "450 4.2.0 <ada@example.org>: Recipient address rejected: Greylisted",
        "connect to mx.example.org[192.0.2.1]:25: Connection timed out",
        "Host not found, try again",
        "host mx.example.org[192.0.2.1] refused to talk to me: 421 Service not available",
        "550 User ada temporary locked. Please try again later!",
        "554 5.4.6 Too many hops",
        "retry timeout exceeded",
    ],
    Meaning.UNCLEAR: ["", "550", "550 5.0.0 no", "554 5.3.0 unknown mailer error 255", "5.4.1 no answer"],
}


def code_of(words: str) -> int:
    return int(words[:3]) if words[:3].isdigit() else 0


@pytest.mark.parametrize(("said", "words"), [(said, words) for said, all_ in SAID.items() for words in all_])
def test_what_servers_say_is_understood(said: Meaning, words: str) -> None:
    assert meaning(words, code=code_of(words)) is said
    if words not in ("535 no", "552 no"):  # a report has no code besides the text
        assert meaning(words) is said


@pytest.mark.parametrize("line", SENTENCES.splitlines())
def test_a_sentence_of_a_server_tells_a_dead_address_from_a_full_mailbox_and_from_our_mail(line: str) -> None:
    kind, _, words = line.partition(" | ")
    assert kind_of(action="failed", status="", diagnostic=words) == kind


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("550 max message size exceeded", "policy"),
        ("550 Listed by CSS", "policy"),
        ("550 Your message requires confirmation", "policy"),
        ("550 Mailbox size limit exceeded", "soft"),
        ("550 The user has overdrawn his diskspace quota", "soft"),
        ("550 user has too many messages on the server", "soft"),
    ],
)
def test_words_about_the_letter_or_a_full_mailbox_go_before_a_code_of_the_address(
    words: str, kind: str
) -> None:
    assert kind_of(action="failed", status="5.1.1", diagnostic=words) == kind
    assert kind_of(action="failed", status="", diagnostic=words.replace("550", "550 5.1.1", 1)) == kind


def test_each_meaning_is_about_somebody_and_has_its_samples() -> None:
    assert set(SAID) == set(Meaning)
    about = {said for said in Meaning if said.concern is Concern.ADDRESS}
    assert about == {Meaning.NO_ADDRESS, Meaning.NO_HOST, Meaning.CLOSED}
    assert {said for table in (SURE, LIKELY, VAGUE) for said, _ in table} <= set(Meaning)


@pytest.mark.parametrize(
    ("status", "said"),
    [
        *((status, Concern.ADDRESS) for status in ("5.1.1", "5.1.2", "5.1.3", "5.1.6", "5.1.10", "5.4.4")),
        *((status, Concern.US) for status in ("5.1.7", "5.1.8", "5.7.1", "5.7.26", "5.5.3")),
        *((status, Concern.LETTER) for status in ("5.2.3", "5.3.4", "5.6.0")),
        *((status, Concern.MAILBOX) for status in ("5.2.2", "4.2.2")),
        *((status, Concern.NOBODY) for status in ("", "5.0.0", "5.4.1", "5.4.6", "4.1.1", "4.7.1", "2.0.0")),
    ],
)
def test_where_there_are_no_words_the_code_decides(status: str, said: Concern) -> None:
    assert meaning("", status=status).concern is said


@pytest.mark.parametrize(
    ("status", "words", "said"),
    [
        ("5.1.1", "550 5.7.1 no", Concern.US),
        ("5.1.1", "smtp; 552 5.2.2 no", Concern.MAILBOX),
        ("5.7.1", "550 5.1.1 no", Concern.ADDRESS),
        ("5.1.1", "550 5.0.0 no", Concern.ADDRESS),
        ("5.1.1", "554 5.5.1 Error: no one is left", Concern.ADDRESS),
    ],
)
def test_the_servers_own_code_goes_before_the_status(status: str, words: str, said: Concern) -> None:
    assert meaning(words, status=status).concern is said


@pytest.mark.parametrize(
    "words",
    [
        "550 5.1.1 <spam@example.org>: unknown",
        "host spf.blocked.example.org[192.0.2.1] said: 550 5.1.1 no",
        "550 5.1.1 no. See https://www.example.org/policy/spf-blacklist.html",
    ],
)
def test_names_and_addresses_are_no_words(words: str) -> None:
    assert meaning(words).concern is Concern.ADDRESS


def test_an_address_in_the_words_is_no_code() -> None:
    assert precise("", "host mx[10.5.1.1] said 550 no") == ""
    assert precise("5.0.0 (failed)", "host said: 550-5.1.1 no. 5.2.2") == "5.1.1"
    assert precise("", "no mailbox (#5.1.1).") == "5.1.1"
    assert precise("5.1.1", "host far said: 550 5.1.1 host further said: 550 5.7.1 no") == "5.7.1"


@given(st.text(max_size=300), st.integers(0, 999), st.text("0123456789.", max_size=9))
def test_anything_means_something(words: str, code: int, status: str) -> None:
    assert meaning(words, code=code, status=status) in Meaning


@pytest.mark.parametrize(
    "piece",
    ["a", "user ", "a.", "a@", "@ ", "sender ", "mailbox (", "http://", "<a@b.c> ", "said: 5.1.1 ", "-"],
)
def test_long_words_are_read_in_linear_time(piece: str) -> None:
    long = piece * (4_000_000 // len(piece))
    began = time.process_time()
    for size in (MOST_SERVER_WORDS, len(long)):
        meaning(long[:size])
    assert time.process_time() - began < 1


@st.composite
def answers(draw: st.DrawFn) -> Answers:
    count = draw(st.integers(0, LAST_LETTERS))
    refused = draw(st.integers(0, count))
    return Answers(count, refused, draw(st.integers(0, refused)))


@pytest.mark.parametrize(
    ("count", "refused", "pauses"),
    [(100, 20, True), (100, 19, False), (10, 10, True), (9, 9, False), (50, 10, True), (51, 10, False)],
)
def test_ten_recipients_and_a_fifth_of_the_last_hundred_pause_a_domain(
    count: int, refused: int, pauses: bool
) -> None:
    assert refuses(Answers(count, refused)) is pauses


@given(answers())
def test_a_domain_is_never_paused_for_fewer_than_ten_recipients_or_a_fifth(given: Answers) -> None:
    assert refuses(given) == (given.refused >= 10 and given.refused * 5 >= given.count)


@given(answers(), st.booleans(), st.integers(0, 10))
def test_a_newsletter_stops_only_for_large_domains_three_of_them_or_for_our_identity(
    given: Answers, is_large: bool, others: int
) -> None:
    stops = stops_newsletter(given, is_large=is_large, large_that_refuse=others)
    assert stops == (is_large and (doubts_us(given) or (refuses(given) and others >= 3)))


@given(answers(), st.integers(0, 2))
def test_without_a_word_about_our_identity_two_large_domains_stop_nothing(given: Answers, large: int) -> None:
    plain = Answers(given.count, given.refused)
    assert not stops_newsletter(plain, is_large=True, large_that_refuse=large)


def test_one_odd_server_does_not_put_our_identity_in_doubt() -> None:
    assert not doubts_us(Answers(100, 2, 2))
    assert not doubts_us(Answers(100, 30, 19))
    assert doubts_us(Answers(3, 3, 3))
    assert doubts_us(Answers(100, 20, 20))


@pytest.mark.parametrize(
    ("status", "refusal", "identity"),
    [
        ("5.7.1", True, False),
        ("5.7.24", True, False),
        ("5.7.25", True, True),
        ("5.7.26", True, True),
        ("5.7.29", True, True),
        ("5.7.30", True, False),
        ("5.7.515", True, True),
        ("5.7.5", True, False),
        ("5.1.1", False, False),
        ("4.7.26", False, False),
        ("", False, False),
        ("5.7.1x", False, False),
    ],
)
def test_what_a_code_is_about(status: str, refusal: bool, identity: bool) -> None:
    assert (is_refusal(status), is_about_identity(status)) == (refusal, identity)


def test_a_domain_is_large_with_a_hundredth_of_the_recipients() -> None:
    domains = ["big.example"] * 97 + ["small.example"] + [""] * 2
    assert large(domains) == {"big.example": 0.97, "small.example": 0.01}
    assert large([*domains, "one.example", "two.example"]) == {"big.example": 97 / 102}
    assert large([]) == {}


@given(st.lists(st.sampled_from(["a.example", "b.example", "c.example", ""])))
def test_no_more_than_a_hundred_domains_are_large(domains: list[str]) -> None:
    shares = large(domains)
    assert all(0.01 <= share <= 1 for share in shares.values())
    assert sum(shares.values()) <= 1.000001


@given(st.lists(st.tuples(st.integers(0, 3600), st.integers(1, 9)), max_size=30))
def test_those_of_the_last_minutes_count_and_no_others(events: list[tuple[int, int]]) -> None:
    recent: Recent = []
    events.sort()
    for second, number in events:
        recent = with_refusals(recent, number, NOW + timedelta(seconds=second), within=TEN_MINUTES)
    last = events[-1][0] if events else 0
    surely = sum(number for second, number in events if last - second < 540)
    perhaps = sum(number for second, number in events if last - second < 660)
    assert surely <= sum(number for _, number in recent) <= perhaps
    assert len(recent) <= 11
    assert is_too_much(recent, BREAKER) == (sum(number for _, number in recent) >= 20)


def test_tried_slowly_it_cannot_open_again_by_itself() -> None:
    assert BREAKER.within / BREAKER.pace == BREAKER.refusals / 2
