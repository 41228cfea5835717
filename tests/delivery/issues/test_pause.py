"""Pausing, resuming and cancelling: a flag at once, then the deliveries in batches."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from channels.base import Temporary
from common.ports.panels import CannotAct
from delivery.issues import pause
from delivery.issues.pause import (
    CANCELLED,
    NotRetryable,
    cancel_issue,
    finish_pauses,
    pause_issue,
    pause_newsletter,
    resume_issue,
    resume_newsletter,
    retry_delivery,
)
from delivery.models import Delivery, Issue
from subscriptions.models import Subscribable
from tests.delivery.ledger import HOUR, claimed, ended, queued, states
from tests.factories import NOW, DeliveryFactory, IssueFactory

pytestmark = pytest.mark.django_db
NO_TIME = timedelta(0)


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pause, "DELIVERIES_A_BATCH", 2)


def an_issue_with(**counts: int) -> Issue:
    issue: Issue = IssueFactory()
    for state, count in counts.items():
        queued(count, issue=issue, state=state)
    return issue


def held_for() -> set[str]:
    return set(Delivery.objects.filter(state="held").values_list("held_for", flat=True))


def test_what_is_not_on_its_way_yet_waits_and_goes_on() -> None:
    issue = an_issue_with(queued=5, deferred=2, sent=1, failed=1)
    other = an_issue_with(queued=1)
    assert pause_issue(issue_id=issue.pk, now=NOW)
    assert states() == {"held": 7, "sent": 1, "failed": 1, "queued": 1}
    assert held_for() == {"pause"}
    assert [job.issue_id for job in claimed()] == [other.pk]
    assert resume_issue(issue_id=issue.pk, now=NOW + HOUR) == 7
    issue.refresh_from_db()
    assert issue.paused_at is None
    assert states() == {"queued": 7, "sent": 1, "failed": 1, "sending": 1}
    assert not Delivery.objects.filter(state="queued").exclude(held_for="").exists()


def test_pausing_sets_a_flag_whatever_is_left_to_do() -> None:
    issue = an_issue_with(queued=9)
    assert pause_issue(issue_id=issue.pk, now=NOW, budget=NO_TIME)
    issue.refresh_from_db()
    assert issue.paused_at == NOW
    assert states() == {"queued": 9}
    assert finish_pauses(now=NOW) == 9
    assert states() == {"held": 9}
    assert finish_pauses(now=NOW) == 0


def test_pausing_twice_is_pausing_once() -> None:
    issue = an_issue_with(queued=1)
    assert pause_issue(issue_id=issue.pk, now=NOW)
    assert not pause_issue(issue_id=issue.pk, now=NOW + HOUR)
    issue.refresh_from_db()
    assert issue.paused_at == NOW


def test_days_of_pause_do_not_count_against_giving_up() -> None:
    issue = IssueFactory()
    queued(1, issue=issue, attempts=20)
    pause_issue(issue_id=issue.pk, now=NOW)
    later = NOW + timedelta(days=10)
    resume_issue(issue_id=issue.pk, now=later)
    (row,) = ended(Temporary("451 later"), *claimed(now=later), at=later)
    assert row.state == "deferred"


def test_what_a_person_or_a_restore_holds_is_not_let_go_by_resuming() -> None:
    issue = an_issue_with(queued=1)
    kept = [DeliveryFactory(issue=issue, state="held", held_for=why) for why in ("", "restore", "domain")]
    pause_issue(issue_id=issue.pk, now=NOW)
    assert resume_issue(issue_id=issue.pk, now=NOW) == 1
    assert set(Delivery.objects.filter(state="held").values_list("pk", flat=True)) == {row.pk for row in kept}


def test_what_is_being_sent_finishes() -> None:
    issue = an_issue_with(queued=1)
    (job,) = claimed()
    pause_issue(issue_id=issue.pk, now=NOW)
    assert states() == {"sending": 1}
    # A deferred delivery waits for the pause to end.
    ended(Temporary("451 later"), job)
    finish_pauses(now=NOW)
    assert (states(), held_for()) == ({"held": 1}, {"pause"})


@pytest.mark.parametrize("act", [pause_issue, resume_issue, cancel_issue])
def test_a_draft_is_neither_paused_nor_resumed_nor_cancelled(act: Callable[..., Any]) -> None:
    with pytest.raises(CannotAct, match="wasn’t sent"):
        act(issue_id=IssueFactory(published_at=None).pk, now=NOW)


def test_there_is_nothing_to_pause_of_what_has_all_gone_out() -> None:
    with pytest.raises(CannotAct, match="nothing to pause"):
        pause_issue(issue_id=an_issue_with(sent=2, failed=1).pk, now=NOW)


def test_a_paused_newsletter_holds_all_its_issues_and_nobody_elses() -> None:
    one, other = an_issue_with(queued=2), an_issue_with(queued=1)
    second = IssueFactory(subscribable=one.subscribable)
    queued(2, issue=second)
    assert pause_newsletter(subscribable_id=one.subscribable_id, reason="Wrong\nsender", now=NOW)
    assert not pause_newsletter(subscribable_id=one.subscribable_id, reason="again", now=NOW)
    paused = Subscribable.objects.get(pk=one.subscribable_id)
    assert (paused.sending_paused_at, paused.sending_paused_reason) == (NOW, "Wrong sender")
    finish_pauses(now=NOW)
    assert states() == {"held": 4, "queued": 1}
    assert resume_newsletter(subscribable_id=one.subscribable_id, now=NOW) == 4
    paused.refresh_from_db()
    assert (paused.sending_paused_at, paused.sending_paused_reason) == (None, "")
    assert states() == {"queued": 5}
    assert other.deliveries.get().held_for == ""


def test_of_a_newsletter_that_goes_on_an_issue_that_is_paused_itself_waits() -> None:
    issue = an_issue_with(queued=2)
    pause_issue(issue_id=issue.pk, now=NOW)
    pause_newsletter(subscribable_id=issue.subscribable_id, reason="", now=NOW)
    assert resume_newsletter(subscribable_id=issue.subscribable_id, now=NOW) == 0
    pause_newsletter(subscribable_id=issue.subscribable_id, reason="", now=NOW)
    assert resume_issue(issue_id=issue.pk, now=NOW) == 0
    assert states() == {"held": 2}
    assert resume_newsletter(subscribable_id=issue.subscribable_id, now=NOW) == 2


def test_a_worker_that_ended_in_the_middle_of_resuming_is_taken_over_from() -> None:
    issue = an_issue_with(queued=5)
    pause_issue(issue_id=issue.pk, now=NOW)
    assert resume_issue(issue_id=issue.pk, now=NOW, budget=NO_TIME) == 0
    assert states() == {"held": 5}
    assert finish_pauses(now=NOW) == 5
    assert states() == {"queued": 5}


def test_cancelling_ends_all_that_waits_with_the_reason_and_is_safe_to_repeat() -> None:
    issue = an_issue_with(queued=3, deferred=1, held=1, sent=1, failed=1)
    other = an_issue_with(queued=1)
    assert cancel_issue(issue_id=issue.pk, now=NOW) == 5
    assert cancel_issue(issue_id=issue.pk, now=NOW + HOUR) == 0
    issue.refresh_from_db()
    assert issue.cancelled_at == NOW
    assert states() == {"cancelled": 5, "sent": 1, "failed": 1, "queued": 1}
    assert set(issue.deliveries.filter(state="cancelled").values_list("last_error", flat=True)) == {CANCELLED}
    assert other.deliveries.get().state == "queued"


def test_what_was_being_sent_when_its_issue_was_cancelled_finishes_and_is_not_tried_again() -> None:
    issue = an_issue_with(queued=1)
    (job,) = claimed()
    cancel_issue(issue_id=issue.pk, now=NOW)
    assert states() == {"sending": 1}
    (row,) = ended(Temporary("451 later"), job)
    finish_pauses(now=NOW)
    row.refresh_from_db()
    assert (row.state, row.last_error) == ("cancelled", CANCELLED)
    with pytest.raises(NotRetryable, match="was cancelled"):
        retry_delivery(delivery=row, now=NOW)


def test_a_delivery_that_waits_for_a_pause_is_not_tried_by_itself() -> None:
    issue = an_issue_with(queued=1)
    row = issue.deliveries.get()
    pause_issue(issue_id=issue.pk, now=NOW)
    with pytest.raises(NotRetryable, match="paused"):
        retry_delivery(delivery=row, now=NOW)
    assert states() == {"held": 1}


def test_a_cancelled_issue_is_not_resumed() -> None:
    issue = an_issue_with(queued=2)
    pause_issue(issue_id=issue.pk, now=NOW)
    cancel_issue(issue_id=issue.pk, now=NOW)
    assert resume_issue(issue_id=issue.pk, now=NOW) == 0
    assert finish_pauses(now=NOW) == 0
    assert states() == {"cancelled": 2}


def test_a_batch_is_bounded_and_looks_first_whether_it_is_still_wanted() -> None:
    issue = an_issue_with(queued=7)
    assert pause.move_batch(issue_id=issue.pk, move=pause.HOLD, now=NOW) == 0
    Issue.objects.update(paused_at=NOW)
    assert pause.move_batch(issue_id=issue.pk, move=pause.HOLD, now=NOW) == 2
    assert states() == {"held": 2, "queued": 5}
