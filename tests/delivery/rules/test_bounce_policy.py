from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from delivery.rules.bounce_policy import (
    Act,
    BounceKind,
    History,
    act,
    is_flood,
    is_no_such_address,
    kind_of,
    mildest,
    worst_kind,
)

DAY = date(2026, 3, 3)


def days(count: int) -> frozenset[date]:
    return frozenset(DAY - timedelta(days=number) for number in range(count))


@pytest.mark.parametrize(
    ("status", "said", "kind"),
    [
        ("5.1.1", "", BounceKind.HARD),
        ("5.1.10", "null MX", BounceKind.HARD),
        ("5.1.1", "mailbox full", BounceKind.SOFT),
        ("5.1.8", "sender's domain not found", BounceKind.POLICY),
        ("5.7.1", "user unknown", BounceKind.HARD),
        ("5.7.26", "", BounceKind.POLICY),
        ("5.2.2", "", BounceKind.SOFT),
        ("5.2.1", "The account is disabled", BounceKind.HARD),
        ("5.2.1", "The user is receiving mail too quickly", BounceKind.SOFT),
        ("5.2.3", "too large", BounceKind.POLICY),
        ("4.4.7", "expired", BounceKind.SOFT),
        ("5.4.4", "host not found", BounceKind.HARD),
        ("5.0.0", "550 user unknown", BounceKind.HARD),
        ("5.0.0", "550 no such mailbox", BounceKind.HARD),
        ("5.0.0", "550 blocked as spam", BounceKind.POLICY),
        ("", "552 over quota", BounceKind.SOFT),
        ("", "", BounceKind.SOFT),
        ("5.5.0", "Requested action not taken: mailbox unavailable", BounceKind.HARD),
    ],
)
def test_what_a_failure_is(status: str, said: str, kind: BounceKind) -> None:
    assert kind_of(action="failed", status=status, diagnostic=said) is kind


def test_an_action_goes_before_the_status() -> None:
    for action, kind in (
        ("delayed", BounceKind.DELAYED),
        ("Delivered", BounceKind.ARRIVED),
        ("odd", BounceKind.UNKNOWN),
    ):
        assert kind_of(action=action, status="5.1.1", diagnostic="") is kind


def test_a_hard_bounce_suppresses_at_once_and_a_soft_one_on_the_third_day() -> None:
    assert act(BounceKind.HARD, History())[0] is Act.SUPPRESS
    for count, expected in ((1, Act.RECORD), (2, Act.RECORD), (3, Act.SUPPRESS), (9, Act.SUPPRESS)):
        assert act(BounceKind.SOFT, History(soft_days=days(count)))[0] is expected


@pytest.mark.parametrize(("over", "acted"), [(13, Act.RECORD), (14, Act.SUPPRESS), (400, Act.SUPPRESS)])
def test_letters_in_a_row_count_over_two_weeks_at_least(over: int, acted: Act) -> None:
    history = History(soft_days=days(1), soft_row=timedelta(days=over))
    assert act(BounceKind.SOFT, history)[0] is acted
    assert act(BounceKind.POLICY, history)[0] is Act.RECORD


@pytest.mark.parametrize("kind", [BounceKind.POLICY, BounceKind.DELAYED, BounceKind.UNKNOWN])
def test_what_does_not_tell_of_the_address_is_recorded_only(kind: BounceKind) -> None:
    assert act(kind, History(soft_days=days(9), domain_hard=99))[0] is Act.RECORD


def test_who_has_confirmed_since_is_written_to_unless_they_complain() -> None:
    since = History(soft_days=days(9), confirmed_since=True)
    assert [act(kind, since)[0] for kind in (BounceKind.HARD, BounceKind.SOFT)] == [Act.RECORD, Act.RECORD]
    assert act(BounceKind.COMPLAINT, since)[0] is Act.SUPPRESS


def test_a_flood_of_a_domain_is_held() -> None:
    assert act(BounceKind.HARD, History(domain_hard=10, domain_answered=99))[0] is Act.HOLD
    assert act(BounceKind.HARD, History(domain_hard=10, domain_answered=100))[0] is Act.SUPPRESS
    assert act(BounceKind.HARD, History(domain_hard=9, domain_answered=9))[0] is Act.SUPPRESS
    assert is_flood(11, 100)


@given(st.lists(st.sampled_from(BounceKind)))
def test_the_worst_and_the_mildest_are_of_them(kinds: list[BounceKind]) -> None:
    if kinds:
        assert {worst_kind(kinds), mildest(kinds)} <= set(kinds)
    else:
        assert worst_kind(kinds) is mildest(kinds) is BounceKind.UNKNOWN


def test_a_letter_whose_bounce_is_known_suppresses_nobody_again() -> None:
    assert act(BounceKind.HARD, History(known=True, domain_hard=99))[0] is Act.RECORD


def test_while_a_person_is_asked_about_the_domain_its_bounces_wait_too() -> None:
    assert act(BounceKind.HARD, History(domain_held=True))[0] is Act.HOLD


@pytest.mark.parametrize(
    ("status", "said", "there_is_none"),
    [
        ("5.1.1", "550 5.1.1 No such user", True),
        ("5.1.10", "556 5.1.10 null MX", True),
        ("5.1.0", "550 5.1.0 Address rejected", True),
        ("5.1.0", "550 5.1.0 Sender denied", False),
        ("5.1.8", "550 5.1.8 Bad sender", False),
        ("", "550 No such user", True),
        ("", "550 go away", False),
        ("5.7.1", "550 5.7.1 No such user", True),
        ("5.4.4", "550 5.4.4 Host not found", True),
        ("5.4.1", "550 5.4.1 Recipient address rejected: Access denied", True),
        ("5.1.1", "550 5.1.1 undeliverable address: host mx said: 550 5.7.1 blocked using zen", False),
    ],
)
def test_a_servers_own_refusal_is_about_the_address_by_its_words_and_code(
    status: str, said: str, there_is_none: bool
) -> None:
    assert is_no_such_address(status, said) is there_is_none
