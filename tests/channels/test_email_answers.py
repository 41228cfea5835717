"""The outcome of each response of a mail server, stage by stage."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.base import Ambiguous, Holdup, Permanent, Sent, Temporary
from channels.email.smtp_replies import Stage, outcome_of_reply
from channels.rules.meaning import Meaning

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
