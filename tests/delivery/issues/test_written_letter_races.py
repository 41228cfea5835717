"""Two workers, or a worker and an editor, at one letter at once; two connections on PostgreSQL."""

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
from delivery.issues.publish import publish
from delivery.models import Broadcast, Delivery, Issue
from subscriptions.models import SubscriberTag
from subscriptions.subscribers.tags import delete_tags, tag_people
from tests.delivery.ledger import HOUR
from tests.factories import NOW, BroadcastFactory, SubscribableFactory, SubscriptionFactory
from tests.races import beside

SECOND_DATABASE = True

two_writers = pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite lets one writer in")
pytestmark = pytest.mark.django_db(transaction=True)
THEN = NOW + HOUR


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


def refused(act: Any) -> Any:
    try:
        return act()
    except CannotAct as error:
        return str(error)


def release(letter: Broadcast) -> Any:
    return lambda: release_letter(letter_id=letter.pk, now=THEN)


def send(letter: Broadcast) -> Any:
    return lambda: refused(lambda: send_letter(letter_id=letter.pk, version=1, now=THEN))


@two_writers
def test_of_two_workers_one_publishes_it(letter: Any) -> None:
    assert beside(release(letter), release(letter)) == (True, False)
    assert (Issue.objects.count(), Delivery.objects.count()) == (1, 3)


@two_writers
@pytest.mark.parametrize("first", ["worker", "editor"])
def test_a_worker_beside_an_impatient_editor_publishes_it_once(letter: Any, first: str) -> None:
    acts = [release(letter), send(letter)]
    one, two = beside(*(acts if first == "worker" else reversed(acts)))
    assert one in (True, 3)
    assert two is False or "was already sent" in two
    assert (Issue.objects.count(), Delivery.objects.count()) == (1, 3)


@two_writers
def test_a_worker_beside_its_being_taken_off_the_schedule_does_not_send_it(letter: Any) -> None:
    _, released = beside(lambda: unschedule_letter(letter_id=letter.pk), release(letter))
    assert released is False
    assert not Issue.objects.exists()


@two_writers
def test_what_was_rendered_before_a_change_is_not_sent(letter: Any) -> None:
    def change() -> None:
        unschedule_letter(letter_id=letter.pk)
        save_letter(letter_id=letter.pk, subject="Other", markdown="Other", version=1, now=NOW)
        schedule_letter(letter_id=letter.pk, at=THEN, version=2, now=NOW)

    _, released = beside(change, release(letter))
    assert released is False
    assert release(letter)() is True
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
            release(of_two)()
    assert not Delivery.objects.exists()
    assert beside(release(of_two), release(of_two)) == (True, False)
    assert beside(send(of_two), release(of_two), blocks=False)[1] is False
    people = list(Delivery.objects.values_list("destination", flat=True))
    assert len(people) == len(set(people)) == 3
    assert Issue.objects.count() == 1


@two_writers
def test_a_tag_is_not_deleted_under_a_letter_that_leaves_its_people_out(of_two: Any) -> None:
    tag = SubscriberTag.objects.get(key="out")
    released, _ = beside(release(of_two), lambda: delete_tags(tags=[tag.pk]))
    assert released is True
    assert Delivery.objects.count() == 3


@two_writers
def test_a_letter_beside_the_deletion_of_such_a_tag_goes_to_nobody(of_two: Any) -> None:
    tag = SubscriberTag.objects.get(key="out")
    _, released = beside(lambda: delete_tags(tags=[tag.pk]), release(of_two))
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
            release(letter)()
    assert not Issue.objects.exists()
    assert not Delivery.objects.exists()
    assert release(letter)() is True
    assert (Issue.objects.count(), Delivery.objects.count()) == (1, 3)
