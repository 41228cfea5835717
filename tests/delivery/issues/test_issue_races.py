"""Two people, or a person and the engine, at one issue at once; two connections on PostgreSQL.

Two workers, or a worker and an editor, at one letter at once; two connections on PostgreSQL.
"""

from collections import Counter
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from common.ports.panels import CannotAct
from delivery.issues import broadcasts
from delivery.issues.audience import chosen_audience
from delivery.issues.broadcasts import (
    release_letter,
    save_letter,
    schedule_letter,
    send_letter,
    unschedule_letter,
)
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
from delivery.models import Broadcast, Delivery, Issue
from subscriptions.models import Subscribable, SubscriberTag
from subscriptions.subscribers.tags import delete_tags, tag_people
from tests.delivery.ledger import HOUR, queued, states
from tests.factories import NOW, BroadcastFactory, IssueFactory, SubscribableFactory, SubscriptionFactory
from tests.races import beside

two_writers = pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite lets one writer in")
THEN = NOW + HOUR
pytestmark = pytest.mark.django_db(transaction=True)
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


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite lets one writer in at a time")
def test_approving_beside_the_timed_release_publishes_once() -> None:
    issue = a_draft(release_at=NOW)
    approved, released = beside(lambda: approve_issue(issue_id=issue.pk, now=NOW), release)
    assert (approved, released) == (3, 0)
    assert Delivery.objects.count() == 3


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite lets one writer in at a time")
def test_the_timed_release_beside_approving_publishes_once() -> None:
    issue = a_draft(release_at=NOW)
    released, approved = beside(release, lambda: refused(lambda: approve_issue(issue_id=issue.pk, now=NOW)))
    assert released == 1
    assert "was already sent" in approved
    assert Delivery.objects.count() == 3


@pytest.mark.parametrize("stop", ["discard", "stop"])
@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite lets one writer in at a time")
def test_a_release_beside_its_being_stopped_does_not_go(stop: str) -> None:
    issue = a_draft(release_at=NOW)
    acts = {
        "discard": lambda: discard_issue(issue_id=issue.pk, now=NOW),
        "stop": lambda: stop_release(issue_id=issue.pk),
    }
    _, released = beside(acts[stop], release)
    assert released == 0
    assert not Delivery.objects.exists()


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite lets one writer in at a time")
def test_late_beside_late_inserts_once() -> None:
    issue = a_draft()
    publish(issue_id=issue.pk, now=NOW)
    SubscriptionFactory.create_batch(2, subscribable=issue.subscribable, confirmed_at=NOW + HOUR)

    def late() -> int:
        return send_late(issue_id=issue.pk, now=NOW + 2 * HOUR)

    assert beside(late, late) == (2, 0)
    assert Delivery.objects.count() == 5


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite lets one writer in at a time")
def test_pausing_beside_the_publishing_waits_for_it_and_holds_all_of_it() -> None:
    issue = a_draft()
    beside(lambda: publish(issue_id=issue.pk, now=NOW), lambda: pause_issue(issue_id=issue.pk, now=NOW))
    finish_pauses(now=NOW)
    assert states() == {"held": 3}


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite lets one writer in at a time")
def test_a_newsletter_paused_beside_the_publishing_holds_all_of_it() -> None:
    issue = a_draft()

    def pause() -> bool:
        return pause_newsletter(subscribable_id=issue.subscribable_id, reason="", now=NOW)

    assert beside(lambda: publish(issue_id=issue.pk, now=NOW), pause, blocks=False) == (3, True)
    finish_pauses(now=NOW)
    assert states() == {"held": 3}


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite lets one writer in at a time")
def test_a_batch_of_a_pause_beside_resuming_leaves_nothing_held() -> None:
    issue = IssueFactory(paused_at=NOW)
    queued(3, issue=issue)
    beside(
        lambda: move_batch(issue_id=issue.pk, move=HOLD, now=NOW),
        lambda: resume_issue(issue_id=issue.pk, now=NOW),
    )
    assert states() == {"queued": 3}


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite lets one writer in at a time")
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


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite lets one writer in at a time")
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


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite lets one writer in at a time")
def test_two_that_settle_at_once_settle_everything_once() -> None:
    issue = IssueFactory()
    queued(4, issue=issue)
    Subscribable.objects.update(sending_paused_at=NOW)
    one, two = beside(lambda: finish_pauses(now=NOW), lambda: finish_pauses(now=NOW))
    assert one + two == 4
    assert Counter(states()) == {"held": 4}


@pytest.fixture
def letter() -> Any:
    made = BroadcastFactory(send_at=THEN, next_try_at=THEN)
    SubscriptionFactory.create_batch(3, subscribable=made.subscribable)
    return made


@pytest.fixture
def of_two(letter: Any) -> Any:
    """Address readers with a tag: one of both newsletters, one of each; one more is left out."""
    other = SubscribableFactory(name="other")
    both, mine, out = letter.subscribable.subscriptions.order_by("pk")
    SubscriptionFactory(subscribable=other, destination=both.destination)
    theirs = SubscriptionFactory(subscribable=other)
    people = [row.destination_id for row in (both, mine, theirs, out)]
    tag_people(destinations=people, names=["vip"])
    tag_people(destinations=[out.destination_id], names=["out"])
    audience = chosen_audience(letter.subscribable, any_of=["vip"], none_of=["out"], others=["other"])
    letter.audience = audience.to_json()
    letter.save(update_fields=["audience"])
    return letter


def letter_release(letter: Broadcast) -> Any:
    return lambda: release_letter(letter_id=letter.pk, now=THEN)


def send(letter: Broadcast) -> Any:
    return lambda: refused(lambda: send_letter(letter_id=letter.pk, version=1, now=THEN))


@two_writers
def test_of_two_workers_one_publishes_it(letter: Any) -> None:
    assert beside(letter_release(letter), letter_release(letter)) == (True, False)
    assert (Issue.objects.count(), Delivery.objects.count()) == (1, 3)


@two_writers
@pytest.mark.parametrize("first", ["worker", "editor"])
def test_a_worker_beside_an_impatient_editor_publishes_it_once(letter: Any, first: str) -> None:
    acts = [letter_release(letter), send(letter)]
    one, two = beside(*(acts if first == "worker" else reversed(acts)))
    assert one in (True, 3)
    assert two is False or "was already sent" in two
    assert (Issue.objects.count(), Delivery.objects.count()) == (1, 3)


@two_writers
def test_a_worker_beside_its_being_taken_off_the_schedule_does_not_send_it(letter: Any) -> None:
    _, released = beside(lambda: unschedule_letter(letter_id=letter.pk), letter_release(letter))
    assert released is False
    assert not Issue.objects.exists()


@two_writers
def test_what_was_rendered_before_a_change_is_not_sent(letter: Any) -> None:
    def change() -> None:
        unschedule_letter(letter_id=letter.pk)
        save_letter(letter_id=letter.pk, subject="Other", markdown="Other", version=1, now=NOW)
        schedule_letter(letter_id=letter.pk, at=THEN, version=2, now=NOW)

    _, released = beside(change, letter_release(letter))
    assert released is False
    assert letter_release(letter)() is True
    assert Issue.objects.get().subject == "Other"


class Killed(BaseException):
    """Kill of a worker, which nothing catches."""


@two_writers
def test_each_of_a_segment_of_two_newsletters_has_it_once_though_one_publisher_dies_and_two_race(
    of_two: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(*args: Any, **kwargs: Any) -> None:
        publish(*args, **kwargs)
        assert Delivery.objects.count() == 3
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(broadcasts, "publish", die)
        with pytest.raises(Killed):
            letter_release(of_two)()
    assert not Delivery.objects.exists()
    assert beside(letter_release(of_two), letter_release(of_two)) == (True, False)
    assert beside(send(of_two), letter_release(of_two), blocks=False)[1] is False
    people = list(Delivery.objects.values_list("destination", flat=True))
    assert len(people) == len(set(people)) == 3
    assert Issue.objects.count() == 1


@two_writers
def test_a_tag_is_not_deleted_under_a_letter_that_leaves_its_people_out(of_two: Any) -> None:
    tag = SubscriberTag.objects.get(key="out")
    released, _ = beside(letter_release(of_two), lambda: delete_tags(tags=[tag.pk]))
    assert released is True
    assert Delivery.objects.count() == 3


@two_writers
def test_a_letter_beside_the_deletion_of_such_a_tag_goes_to_nobody(of_two: Any) -> None:
    tag = SubscriberTag.objects.get(key="out")
    _, released = beside(lambda: delete_tags(tags=[tag.pk]), letter_release(of_two))
    assert released is False
    assert not Delivery.objects.exists()
    of_two.refresh_from_db()
    assert "“out”, which no longer exists" in of_two.last_error


@pytest.mark.django_db
@pytest.mark.parametrize("at", ["publish", "render_issue"])
def test_a_worker_that_dies_in_between_leaves_it_to_the_next(
    letter: Any, at: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(*args: Any, **kwargs: Any) -> None:
        if at == "publish":
            usual(*args, **kwargs)
        raise Killed

    usual = getattr(broadcasts, at)
    with monkeypatch.context() as patched:
        patched.setattr(broadcasts, at, die)
        with pytest.raises(Killed):
            letter_release(letter)()
    assert not Issue.objects.exists()
    assert not Delivery.objects.exists()
    assert letter_release(letter)() is True
    assert (Issue.objects.count(), Delivery.objects.count()) == (1, 3)
