"""Refusals by servers: the recipient fails, then the domain is paused, then the newsletter."""

from collections.abc import Sequence
from typing import Any

import pytest

from channels.base import Permanent, Sent, Temporary
from channels.email.headers import return_path
from delivery.bounces import domain_refusals
from delivery.bounces.record import take_report
from delivery.engine.outcomes import record_outcomes
from delivery.issues.pause import resume_newsletter
from delivery.lanes.limits import resume_domain
from delivery.models import Attempt, Bounce, Delivery, Issue, LaneDomain
from subscriptions.models import Subscribable, Suppression
from tests.delivery.bounces.mails import dsn, failed
from tests.delivery.ledger import HOUR, MINUTE, a_lane, claimed, ended, ended_task, queued
from tests.examples import NIGHTLY
from tests.factories import NOW, BounceFactory, DeliveryFactory, IssueFactory

pytestmark = pytest.mark.django_db

REFUSED = Permanent("550 5.7.1 Your messages are not wanted here", status="5.7.1")
WHO = Permanent("550 5.7.26 This mail is unauthenticated", status="5.7.26")
GONE = Permanent("550 5.1.1 No such user", status="5.1.1")
DOMAINS = ("one.example", "two.example", "three.example", "four.example")


def letters(count: int, domain: str = "one.example", issue: Issue | None = None) -> list[Delivery]:
    return queued(count, issue=issue, domain=domain)


def answered(outcome: Permanent | Sent, *, at: Any = NOW, together: bool = True) -> None:
    """Give all due letters that outcome."""
    jobs = claimed(now=at)
    for group in [jobs] if together else [[job] for job in jobs]:
        record_outcomes([ended_task(job, outcome, at) for job in group])


def paused() -> list[str]:
    return list(LaneDomain.objects.filter(paused=True).order_by("domain").values_list("domain", flat=True))


def newsletter(issue: Issue) -> Subscribable:
    return Subscribable.objects.get(pk=issue.subscribable_id)


def a_large_rest(issue: Issue, count: int = 2000) -> None:
    """Add readers elsewhere, so that none of the tested domains is large."""
    first, *_ = queued(1, issue=issue, domain="rest.example", state="sent", sent_at=NOW)
    Delivery.objects.filter(pk=first.pk).update(lane=a_lane())
    DeliveryFactory.create_batch(count, issue=issue, domain="rest.example", state="sent", sent_at=NOW)


def test_a_refusal_fails_its_recipient_and_is_recorded_with_its_code() -> None:
    letters(1)
    answered(REFUSED)
    row = Delivery.objects.get()
    assert (row.state, row.last_error) == ("failed", REFUSED.text)
    assert (Attempt.objects.get().status, Bounce.objects.get().status) == ("5.7.1", "5.7.1")
    assert (Bounce.objects.get().kind, Bounce.objects.get().delivery) == ("policy", row)
    assert not Suppression.objects.exists()
    assert paused() == []


@pytest.mark.parametrize("together", [True, False])
def test_ten_refused_recipients_that_are_a_fifth_pause_the_domain(together: bool) -> None:
    letters(40)
    answered(Sent("ok"))
    letters(9)
    answered(REFUSED, together=together)
    assert paused() == []
    letters(1)
    answered(REFUSED, together=together)
    assert paused() == ["one.example"]
    reason = LaneDomain.objects.get().paused_reason
    assert reason.startswith("By itself: it refused 10 of the last 50 emails")
    assert REFUSED.text in reason


def test_as_many_refusals_that_are_less_than_a_fifth_pause_nothing() -> None:
    letters(90)
    answered(Sent("ok"))
    letters(15)
    answered(REFUSED)
    assert paused() == []


@pytest.mark.slow
def test_only_the_last_hundred_letters_count() -> None:
    letters(300)
    answered(Sent("ok"))
    letters(20)
    answered(REFUSED)
    assert paused() == ["one.example"]


def test_other_domains_and_lanes_do_not_count() -> None:
    letters(9)
    letters(9, domain="two.example")
    answered(REFUSED)
    other = a_lane(account="other")
    queued(9, lane=other, domain="one.example")
    record_outcomes([ended_task(job, REFUSED, NOW) for job in claimed(lane=other)])
    assert paused() == []


def test_the_same_recipients_again_and_again_are_not_more_recipients() -> None:
    rows = letters(5)
    answered(REFUSED)
    for _ in range(3):
        issue = IssueFactory()
        for row in rows:
            queued(1, issue=issue, subscription=row.subscription, domain="one.example")
        answered(REFUSED)
    assert Bounce.objects.count() == 20
    assert paused() == []


def test_the_first_issue_in_a_large_ledger_is_judged_by_letters_near_it(monkeypatch: Any) -> None:
    monkeypatch.setattr(domain_refusals, "REACHES", (30, 60))
    letters(50)
    answered(Sent("ok"))
    letters(40, domain="two.example")
    answered(Sent("ok"))
    letters(12)
    answered(REFUSED)
    assert paused() == ["one.example"]
    assert "12 of the last 20 emails" in LaneDomain.objects.get().paused_reason


def refusing(issue: Issue, domains: Sequence[str], outcome: Permanent = REFUSED, count: int = 12) -> None:
    for domain in domains:
        letters(count, domain=domain, issue=issue)
    answered(outcome, together=False)


def test_three_large_domains_that_refuse_pause_the_newsletter() -> None:
    issue = IssueFactory()
    refusing(issue, DOMAINS[:2])
    assert newsletter(issue).sending_paused_at is None
    refusing(issue, DOMAINS[2:3])
    assert paused() == sorted(DOMAINS[:3])
    row = newsletter(issue)
    assert row.sending_paused_at == NOW
    assert row.sending_paused_reason.startswith("By itself: 3 large domains refuse it")
    assert REFUSED.text in row.sending_paused_reason


@NIGHTLY
def test_three_small_domains_that_refuse_are_paused_and_no_more() -> None:
    issue = IssueFactory()
    a_large_rest(issue)
    refusing(issue, DOMAINS)
    assert paused() == sorted(DOMAINS)
    assert newsletter(issue).sending_paused_at is None


def test_a_domain_that_somebody_else_paused_is_not_one_that_refuses() -> None:
    issue = IssueFactory()
    LaneDomain.objects.create(lane=a_lane(), domain="two.example", paused=True, paused_reason="By hand.")
    letters(5, domain="two.example", issue=issue)
    answered(Sent("ok"))
    refusing(issue, ("one.example", "three.example"))
    assert newsletter(issue).sending_paused_at is None


def test_a_large_domain_that_doubts_our_identity_pauses_the_newsletter_and_not_itself() -> None:
    issue = IssueFactory()
    letters(20, issue=issue)
    jobs = claimed()
    ended(WHO, *jobs[:2])
    assert newsletter(issue).sending_paused_at is None
    ended(WHO, jobs[2])
    row = newsletter(issue)
    assert row.sending_paused_reason.startswith("By itself: one.example does not believe who it is from")
    ended(WHO, *jobs[3:])
    assert paused() == []
    assert Bounce.objects.filter(effect__endswith="The newsletter is paused.").count() == 20


@NIGHTLY
def test_a_small_domain_that_doubts_our_identity_is_paused_itself() -> None:
    issue = IssueFactory()
    a_large_rest(issue)
    refusing(issue, DOMAINS[:1], WHO)
    assert paused() == ["one.example"]
    assert newsletter(issue).sending_paused_at is None


def test_now_and_then_a_doubt_about_our_identity_pauses_nothing() -> None:
    issue = IssueFactory()
    letters(80, issue=issue)
    jobs = claimed()
    ended(Sent("ok"), *jobs[:75])
    ended(WHO, *jobs[75:])
    assert newsletter(issue).sending_paused_at is None
    assert paused() == []


def test_our_own_server_that_refuses_the_sender_for_its_identity_pauses_the_newsletter() -> None:
    issue = IssueFactory()
    letters(2, issue=issue)
    ended(Temporary("550 5.7.26 Not authenticated", status="5.7.26"), *claimed())
    assert "the mail server does not believe" in newsletter(issue).sending_paused_reason
    assert set(Delivery.objects.values_list("state", flat=True)) == {"deferred"}


def test_other_newsletters_are_not_paused_with_it() -> None:
    issue, other = IssueFactory(), IssueFactory()
    letters(5, issue=other)
    answered(Sent("ok"))
    refusing(issue, DOMAINS[:3])
    assert newsletter(issue).sending_paused_at is not None
    assert newsletter(other).sending_paused_at is None


def test_mails_that_are_no_issue_count_for_the_domain_alone() -> None:
    a_lane()
    for _ in range(12):
        DeliveryFactory(kind="confirmation", domain="one.example")
    answered(WHO)
    assert paused() == ["one.example"]


def test_after_a_person_resumed_it_a_domain_is_judged_anew() -> None:
    lane = a_lane()
    letters(12)
    jobs = claimed()
    ended(REFUSED, *jobs[:10])
    assert paused() == ["one.example"]
    ended(REFUSED, *jobs[10:])  # still being sent
    resume_domain(lane_id=lane.pk, domain="one.example", now=NOW)
    letters(9)
    answered(REFUSED)
    assert paused() == []
    letters(1)
    answered(REFUSED)
    assert paused() == ["one.example"]
    assert "refused 10 of the last 10 emails" in LaneDomain.objects.get().paused_reason


def test_after_a_person_resumed_it_a_newsletter_is_judged_anew() -> None:
    issue = IssueFactory()
    refusing(issue, DOMAINS[:1], WHO, count=3)
    resume_newsletter(subscribable_id=issue.subscribable_id, now=NOW)
    refusing(issue, DOMAINS[:1], WHO, count=2)
    assert newsletter(issue).sending_paused_at is None
    refusing(issue, DOMAINS[:1], WHO, count=1)
    assert newsletter(issue).sending_paused_at is not None


def test_what_comes_back_later_counts_like_an_answer(settings: Any) -> None:
    settings.BOUNCE_DOMAIN = "bounces.example"
    rows = letters(12)
    answered(Sent("ok"))
    for number, row in enumerate(rows[:10]):
        report = dsn(failed(row.destination.core, "5.7.1", "Refused"), to=back(row), id=str(number))
        take_report(raw=report, now=NOW + HOUR)
    assert paused() == ["one.example"]


def back(row: Delivery) -> str:
    return return_path(row.pk)


# --- no such address


def test_no_such_address_goes_the_way_of_a_report() -> None:
    (row,) = letters(1)
    answered(GONE)
    bounce = Bounce.objects.get()
    assert (bounce.kind, bounce.status, bounce.diagnostic) == ("hard", "5.1.1", GONE.text)
    assert (bounce.delivery, bounce.destination, bounce.domain) == (row, row.destination, "one.example")
    suppression = Suppression.objects.get()
    assert suppression.core == row.destination.core
    assert GONE.text in suppression.reason
    row.refresh_from_db()
    assert (row.state, row.destination.disabled_at, Attempt.objects.get().status) == ("failed", None, "5.1.1")


def test_an_answer_that_is_recorded_once_more_changes_nothing() -> None:
    letters(1)
    jobs = claimed()
    ended(GONE, *jobs)
    ended(GONE, *jobs)
    assert (Bounce.objects.count(), Suppression.objects.count(), Attempt.objects.count()) == (1, 1, 1)


def test_a_report_about_the_same_letter_has_no_effect_of_its_own(settings: Any) -> None:
    settings.BOUNCE_DOMAIN = "bounces.example"
    (row,) = letters(1)
    answered(GONE)
    Suppression.objects.all().delete()  # lifted by a person
    report = dsn(failed(row.destination.core), to=back(row))
    effect = take_report(raw=report, now=NOW + HOUR).effect
    assert effect == "Recorded only: this bounce was known already."
    assert not Suppression.objects.exists()


def test_a_letter_that_was_tried_again_by_hand_and_bounces_suppresses_again() -> None:
    (row,) = letters(1)
    answered(GONE)
    Suppression.objects.all().delete()
    later = NOW + HOUR
    Delivery.objects.update(state="queued", attempts=0, created_at=later, due_at=later)
    answered(GONE, at=later)
    assert Suppression.objects.get().core == row.destination.core
    assert Bounce.objects.count() == 2


def test_a_domain_that_denies_too_many_is_held_and_nobody_of_it_suppressed() -> None:
    letters(40)
    jobs = claimed()
    ended(Sent("ok"), *jobs[:25])
    ended(GONE, *jobs[25:34])
    assert (Suppression.objects.count(), paused()) == (9, [])
    ended(GONE, jobs[34])
    assert (Suppression.objects.count(), paused()) == (0, ["one.example"])
    assert LaneDomain.objects.get().paused_reason.startswith("By itself: it said “no such address”")
    ended(GONE, *jobs[35:])
    assert (Suppression.objects.count(), Bounce.objects.filter(held=True).count()) == (0, 15)


def test_as_many_denied_addresses_that_are_a_tenth_are_the_lists_own_fault() -> None:
    letters(120)
    jobs = claimed()
    ended(Sent("ok"), *jobs[:110])
    ended(GONE, *jobs[110:])
    assert (Suppression.objects.count(), paused()) == (10, [])


def test_denied_addresses_of_an_earlier_hour_are_no_flood() -> None:
    letters(20)
    jobs = claimed()
    ended(GONE, *jobs[:9])
    ended(GONE, *jobs[9:10], at=NOW + HOUR + MINUTE)
    assert (Suppression.objects.count(), paused()) == (10, [])


def test_a_suppression_that_was_there_before_stays() -> None:
    rows = letters(12)
    jobs = claimed()
    Suppression.objects.create(core=rows[0].destination.core, reason="By hand.", created_at=NOW)
    ended(GONE, *jobs)
    assert [row.reason for row in Suppression.objects.all()] == ["By hand."]


def test_after_a_person_resumed_it_a_domain_that_denied_is_judged_anew() -> None:
    lane = a_lane()
    letters(12)
    answered(GONE)
    resume_domain(lane_id=lane.pk, domain="one.example", now=NOW)
    letters(9)
    answered(GONE, at=NOW + MINUTE)
    assert (Suppression.objects.count(), paused()) == (9, [])
    letters(1)
    answered(GONE, at=NOW + MINUTE)
    assert (Suppression.objects.count(), paused()) == (0, ["one.example"])


def test_a_reader_who_confirmed_an_hour_ago_is_still_denied_now() -> None:
    letters(1, issue=IssueFactory())
    Delivery.objects.update(created_at=NOW - 5 * HOUR)
    row = Delivery.objects.get()
    assert row.subscription
    type(row.subscription).objects.update(confirmed_at=NOW - HOUR)
    answered(GONE)
    assert Suppression.objects.get().core == row.destination.core


def test_an_acceptance_asks_nothing_about_refusals(django_assert_max_num_queries: Any) -> None:
    BounceFactory.create_batch(3, kind="policy", status="5.7.1")
    letters(30)
    jobs = claimed()
    with django_assert_max_num_queries(4):
        record_outcomes([ended_task(job, Sent("ok"), NOW) for job in jobs])


def test_a_lone_refusal_asks_little(django_assert_max_num_queries: Any) -> None:
    letters(1)
    jobs = claimed()
    with django_assert_max_num_queries(17):
        record_outcomes([ended_task(job, REFUSED, NOW) for job in jobs])
