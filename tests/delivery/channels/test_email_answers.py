"""What each answer of a mail server means, stage by stage."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from delivery.channels.base import Ambiguous, Permanent, Sent, Temporary
from delivery.channels.email.answers import Stage, judge

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


def said(text: bytes) -> tuple[int, bytes]:
    code, _, words = text.partition(b"|")
    return int(code), words


@pytest.mark.parametrize("stage", Stage)
@pytest.mark.parametrize("answer", SLOWING)
def test_an_answer_about_rate_or_policy_slows_the_lane_at_every_stage(stage: Stage, answer: bytes) -> None:
    outcome = judge(stage, *said(answer))
    assert isinstance(outcome, Temporary)
    assert (outcome.stops_lane, outcome.suspect) == (True, True)


@pytest.mark.parametrize("stage", Stage)
@pytest.mark.parametrize("answer", OF_ONE)
def test_another_temporary_answer_puts_off_that_message_alone(stage: Stage, answer: bytes) -> None:
    outcome = judge(stage, *said(answer))
    assert isinstance(outcome, Temporary)
    assert not outcome.stops_lane


@pytest.mark.parametrize("stage", [Stage.RCPT, Stage.DATA, Stage.MESSAGE])
@pytest.mark.parametrize(
    "answer", [b"550|5.1.1 No such user", b"550|5.7.1 Refused", b"554|No", b"571|5.7.26"]
)
def test_a_refusal_fails_the_recipient_and_tells_its_code(stage: Stage, answer: bytes) -> None:
    outcome = judge(stage, *said(answer))
    assert isinstance(outcome, Permanent)
    assert not outcome.disables
    assert outcome.status == (said(answer)[1].split()[0].decode() if b"." in answer else "")


@pytest.mark.parametrize("answer", [b"550|5.1.8 Sender refused", b"553|5.7.1 Not owned", b"550|5.7.26 No"])
def test_a_refused_sender_fails_nobody_for_good(answer: bytes) -> None:
    outcome = judge(Stage.MAIL, *said(answer))
    assert isinstance(outcome, Temporary)
    assert outcome.status == said(answer)[1].split()[0].decode()


def test_a_daily_quota_is_the_lanes_and_fails_nobody() -> None:
    outcome = judge(Stage.MESSAGE, 550, b"5.4.5 Daily user sending limit exceeded")
    assert isinstance(outcome, Temporary)
    assert outcome.stops_lane


@given(stages, st.integers(-1, 999), st.binary(max_size=200))
def test_whatever_comes_is_judged_and_only_a_2xx_to_the_message_is_an_arrival(
    stage: Stage, code: int, text: bytes
) -> None:
    outcome = judge(stage, code, text)
    assert isinstance(outcome, Sent) == (stage is Stage.MESSAGE and 200 <= code < 300)
    assert isinstance(outcome, Permanent) <= (500 <= code < 600)
    assert isinstance(outcome, Ambiguous) <= (stage is Stage.MESSAGE)
    assert (outcome is None) <= (stage is not Stage.MESSAGE)
    if outcome is not None and not isinstance(outcome, Sent):
        assert outcome.text.isprintable()
        assert len(outcome.text) < 700
        assert len(getattr(outcome, "status", "")) <= 9
