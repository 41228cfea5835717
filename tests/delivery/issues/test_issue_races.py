"""Two people, or a person and the engine, at one issue at once; two connections on PostgreSQL."""

from collections import Counter
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from common.ports.panels import CannotAct
from delivery.issues.pause import (
    HOLD,
    QUEUE,
    finish_pauses,
    move_batch,
    pause_issue,
    pause_newsletter,
    resume_issue,
)
from delivery.issues.publish import (
    approve_issue,
    discard_issue,
    publish,
    release_due,
    send_late,
    stop_release,
)
from delivery.models import Delivery, Issue
from subscriptions.models import Subscribable
from tests.delivery.ledger import HOUR, queued, states
from tests.factories import NOW, IssueFactory, SubscriptionFactory
from tests.races import beside

SECOND_DATABASE = True

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite lets one writer in at a time"),
]
NO_TIME = timedelta(0)


def a_draft(**facts: Any) -> Issue:
    issue: Issue = IssueFactory(published_at=None, **facts)
    SubscriptionFactory.create_batch(3, subscribable=issue.subscribable)
    return issue


def release() -> int:
    return release_due(clock=lambda: NOW)


def refused(act: Any) -> Any:
    try:
        return act()
    except CannotAct as error:
        return str(error)


def test_approving_beside_the_timed_release_publishes_once() -> None:
    issue = a_draft(release_at=NOW)
    approved, released = beside(lambda: approve_issue(issue_id=issue.pk, now=NOW), release)
    assert (approved, released) == (3, 0)
    assert Delivery.objects.count() == 3


def test_the_timed_release_beside_approving_publishes_once() -> None:
    issue = a_draft(release_at=NOW)
    released, approved = beside(release, lambda: refused(lambda: approve_issue(issue_id=issue.pk, now=NOW)))
    assert released == 1
    assert "was already sent" in approved
    assert Delivery.objects.count() == 3


@pytest.mark.parametrize("stop", ["discard", "stop"])
def test_a_release_beside_its_being_stopped_does_not_go(stop: str) -> None:
    issue = a_draft(release_at=NOW)
    acts = {
        "discard": lambda: discard_issue(issue_id=issue.pk, now=NOW),
        "stop": lambda: stop_release(issue_id=issue.pk),
    }
    _, released = beside(acts[stop], release)
    assert released == 0
    assert not Delivery.objects.exists()


def test_late_beside_late_inserts_once() -> None:
    issue = a_draft()
    publish(issue_id=issue.pk, now=NOW)
    SubscriptionFactory.create_batch(2, subscribable=issue.subscribable, confirmed_at=NOW + HOUR)

    def late() -> int:
        return send_late(issue_id=issue.pk, now=NOW + 2 * HOUR)

    assert beside(late, late) == (2, 0)
    assert Delivery.objects.count() == 5


def test_pausing_beside_the_publishing_waits_for_it_and_holds_all_of_it() -> None:
    issue = a_draft()
    beside(lambda: publish(issue_id=issue.pk, now=NOW), lambda: pause_issue(issue_id=issue.pk, now=NOW))
    finish_pauses(now=NOW)
    assert states() == {"held": 3}


def test_a_newsletter_paused_beside_the_publishing_holds_all_of_it() -> None:
    issue = a_draft()

    def pause() -> bool:
        return pause_newsletter(subscribable_id=issue.subscribable_id, reason="", now=NOW)

    assert beside(lambda: publish(issue_id=issue.pk, now=NOW), pause, blocks=False) == (3, True)
    finish_pauses(now=NOW)
    assert states() == {"held": 3}


def test_a_batch_of_a_pause_beside_resuming_leaves_nothing_held() -> None:
    issue = IssueFactory(paused_at=NOW)
    queued(3, issue=issue)
    beside(
        lambda: move_batch(issue_id=issue.pk, move=HOLD, now=NOW),
        lambda: resume_issue(issue_id=issue.pk, now=NOW),
    )
    assert states() == {"queued": 3}


def test_a_batch_of_resuming_beside_a_pause_leaves_nothing_on_its_way() -> None:
    issue = IssueFactory()
    queued(3, issue=issue, state="held", held_for="pause")
    moved, paused = beside(
        lambda: move_batch(issue_id=issue.pk, move=QUEUE, now=NOW),
        lambda: pause_issue(issue_id=issue.pk, now=NOW),
    )
    assert (moved, paused) == (3, True)
    finish_pauses(now=NOW)
    assert states() == {"held": 3}


def test_a_claim_that_holds_while_the_pause_ends_is_put_right() -> None:
    """The claim reads the flag without a lock: it may hold what nobody will resume any more."""
    issue = IssueFactory(paused_at=NOW)
    queued(2, issue=issue)

    def hold_as_a_claim_does() -> int:
        return Delivery.objects.filter(issue=issue).update(state="held", held_for="pause")

    beside(hold_as_a_claim_does, lambda: resume_issue(issue_id=issue.pk, now=NOW), blocks=False)
    assert states() == {"held": 2}
    finish_pauses(now=NOW)
    assert states() == {"queued": 2}


def test_two_that_settle_at_once_settle_everything_once() -> None:
    issue = IssueFactory()
    queued(4, issue=issue)
    Subscribable.objects.update(sending_paused_at=NOW)
    one, two = beside(lambda: finish_pauses(now=NOW), lambda: finish_pauses(now=NOW))
    assert one + two == 4
    assert Counter(states()) == {"held": 4}
