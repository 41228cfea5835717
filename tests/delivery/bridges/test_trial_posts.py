"""A test posts the newest post at once, and can be deleted."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction

from channels import channel
from channels.base import Sent, Temporary
from channels.letter import Recipient
from channels.mastodon.bridge import MastodonBridge
from common.ports import channels
from common.transactions import NetworkInTransaction
from delivery.bridges import trial_posts
from delivery.bridges.messages import letter_without_posts, looks_of, newest_letters, recipient_at
from delivery.bridges.trial_posts import NotDone, delete_test, may_delete, post_test, standing_tests
from delivery.engine.claim import reap_expired
from delivery.engine.send_pass import send_due
from delivery.letters.samples import NothingToShow
from delivery.models import Delivery, Lane, RemotePost
from subscriptions.models import Destination
from subscriptions.newsletters.define import alter_subscribable
from tests.delivery.bridges.making import a_bridge
from tests.delivery.ledger import Clock
from tests.examples import some_now
from tests.factories import NOW, DestinationFactory, FeedFactory, SubscribableFactory, SubscriptionFactory
from tests.servers.mastodon_instance import MastodonInstance, Reply

pytestmark = pytest.mark.django_db


def test_the_newest_post_is_posted_and_says_where_it_stands(instance: MastodonInstance) -> None:
    made = a_bridge(instance)
    row = post_test(subscription=made, now=NOW)
    [status] = instance.statuses
    assert status["text"].startswith("[bees] New Post: ")
    assert (row.state, row.remote_id) == ("sent", status["id"])
    assert RemotePost.objects.get().url == status["url"]
    assert [test.pk for test in standing_tests(made)] == [row.pk]
    # The post equals the page's preview.
    [letter] = newest_letters(made.subscribable, now=NOW)
    looks = looks_of(letter, recipient_at(Destination.objects.get()), kind="mastodon")
    assert looks.text == status["text"]
    # An instance may detect only a part of an unusual link, and count the rest in full.
    assert instance.length(status["text"]) <= looks.length
    assert looks.limit == 500


def test_a_digest_is_one_post(instance: MastodonInstance) -> None:
    made = a_bridge(instance)
    bridge = alter_subscribable(subscribable=made.subscribable, arrangement="daily")
    made.subscribable = bridge
    assert len(newest_letters(bridge, now=NOW, count=3)) == 1
    post_test(subscription=made, now=NOW)
    assert " more " in instance.statuses[0]["text"]


def test_a_test_is_taken_back(instance: MastodonInstance) -> None:
    made = a_bridge(instance)
    assert may_delete(made)
    row = post_test(subscription=made, now=NOW)
    done = delete_test(delivery=standing_tests(made)[0], now=NOW)
    assert instance.statuses == []
    assert (done.kind, done.state, done.remote_id) == ("delete", "sent", row.remote_id)
    assert standing_tests(made) == []
    # A second press finds it deleted.
    assert delete_test(delivery=row, now=NOW).pk == done.pk


def test_a_service_that_is_away_keeps_the_test_where_it_is(instance: MastodonInstance) -> None:
    made = a_bridge(instance)
    row = post_test(subscription=made, now=NOW)
    instance.paths[f"/api/v1/statuses/{row.remote_id}"] = Reply(503, {"error": "down for maintenance"})
    with pytest.raises(NotDone, match=r"It was not deleted\. .* down for maintenance"):
        delete_test(delivery=row, now=NOW)
    assert [test.pk for test in standing_tests(made)] == [row.pk]


def test_what_the_service_refuses_is_said_in_its_words_and_leaves_no_row(instance: MastodonInstance) -> None:
    made = a_bridge(instance)
    instance.says = Reply(422, {"error": "Validation failed: no bees"})
    with pytest.raises(NotDone, match="no bees"):
        post_test(subscription=made, now=NOW)
    assert not Delivery.objects.exists()
    assert Destination.objects.get().disabled_at is None


def test_a_token_that_is_no_longer_good_is_said_and_leaves_no_row(instance: MastodonInstance) -> None:
    made = a_bridge(instance)
    instance.says = Reply(401, {"error": "The access token was revoked"})
    with pytest.raises(NotDone, match="revoked"):
        post_test(subscription=made, now=NOW)
    assert not Delivery.objects.exists()
    assert Destination.objects.get().disabled_at is None


def test_an_answer_that_is_lost_leaves_a_row_for_a_person(instance: MastodonInstance) -> None:
    made = a_bridge(instance)
    instance.says = Reply(takes=True, hangs_up=True)
    with pytest.raises(NotDone, match="Check there whether it was posted"):
        post_test(subscription=made, now=NOW)
    assert Delivery.objects.get().state == "held"


@pytest.mark.django_db(transaction=True)
def test_a_process_that_dies_while_it_posts_leaves_no_second_post(
    instance: MastodonInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = a_bridge(instance)

    def dies(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(trial_posts, "_record", dies)
    with pytest.raises(KeyboardInterrupt):
        post_test(subscription=made, now=NOW)
    assert len(instance.statuses) == 1
    later = NOW + timedelta(minutes=10)
    reap_expired(now=later)
    assert send_due(clock=Clock(later)).sent == 1
    assert len(instance.statuses) == 1
    assert Delivery.objects.get().remote_id == instance.statuses[0]["id"]


def test_a_service_that_needs_time_is_waited_for(
    instance: MastodonInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, seen = a_bridge(instance), []

    class Slow:
        def send(self, message: Any, **given: Any) -> Any:
            seen.append(dict(given["progress"]))
            waits = Temporary("not yet", retry_at=given["now"], waits=True, progress={"n": len(seen)})
            return Sent(remote_id="7") if len(seen) > 2 else waits

        def close(self) -> None:
            pass

    monkeypatch.setattr(MastodonBridge, "connect", lambda *_: Slow())
    assert post_test(subscription=made, now=NOW).remote_id == "7"
    assert seen == [{}, {"n": 1}, {"n": 2}]
    assert not may_delete(made)
    with pytest.raises(NotDone, match="delete it there"):
        delete_test(delivery=standing_tests(made)[0], now=NOW)


def test_without_a_post_there_is_no_test(instance: MastodonInstance) -> None:
    made = a_bridge(instance, feed=FeedFactory())
    with pytest.raises(NothingToShow):
        post_test(subscription=made, now=NOW)


def test_nothing_is_posted_within_a_transaction(instance: MastodonInstance) -> None:
    made = a_bridge(instance)
    with transaction.atomic(), pytest.raises(NetworkInTransaction):
        post_test(subscription=made, now=NOW)


@pytest.mark.parametrize("kind", some_now(channels.bridge_kinds()), ids=lambda kind: kind.key)
@pytest.mark.parametrize("arrangement", some_now(["each", "daily"]))
def test_a_message_for_a_deletion_needs_no_posts(kind: channels.ChannelSpec, arrangement: str) -> None:
    bridge = SubscribableFactory(channel=kind.key, sign_up="closed", arrangement=arrangement)
    letter = letter_without_posts(bridge)
    assert channel(kind.key).compose(letter, Recipient(1, "a/b", "bot")) is not None
    assert looks_of(letter, Recipient(1, "a/b", "bot"), kind=kind.key) is not None


@pytest.mark.parametrize("kind", channels.bridge_kinds(), ids=lambda kind: kind.key)
def test_whether_a_post_can_be_taken_back_is_known_without_a_word_to_the_service(
    kind: channels.ChannelSpec,
) -> None:
    bridge = SubscribableFactory(channel=kind.key, sign_up="closed")
    account = DestinationFactory(kind=kind.key, core="a/b")
    made = SubscriptionFactory(subscribable=bridge, destination=account)
    assert may_delete(made) in (True, False)
    assert not Lane.objects.exists()
