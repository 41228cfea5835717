"""Deliveries of edits and deletions: their recipients, what they wait for, and which are skipped."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.core.exceptions import ValidationError

from delivery.bridges.corrections import take_corrections
from delivery.engine.claim import reap_expired
from delivery.issues.pause import retry_delivery
from delivery.models import Correction, Delivery, IssueItem, Lane, MailboxMessage
from feeds.models import Item, TrackedItem
from subscriptions.models import Destination, Subscribable, Subscription
from subscriptions.newsletters.define import alter_subscribable
from tests.delivery.corrected import BOTH, BridgedBlog, an_account, changes, dated
from tests.factories import BridgeFactory, SubscribableFactory, SubscriptionFactory
from tests.feeds.watched import at
from tests.servers.feed_server import FeedServer
from tests.servers.mastodon_instance import MastodonInstance, Reply

pytestmark = pytest.mark.django_db(transaction=True)

A, CORRECTED, AGAIN = (
    dated("a", 10, title=title) for title in ("Bees", "Bees, corrected", "Bees, corrected again")
)
NEWER = "A newer correction came before this one was done."
DELETED = "The post was withdrawn from its feed."


@pytest.fixture
def blog(loopback_allowed: None) -> Iterator[BridgedBlog]:
    with FeedServer() as server:
        made = BridgedBlog(server)
        made.watch()
        made.read(0)
        yield made


def posted(blog: BridgedBlog, instance: MastodonInstance, **options: Any) -> Subscribable:
    bridge = blog.bridge(**(options or BOTH))
    an_account(bridge, instance)
    blog.new(A)
    blog.pass_by(20, 40, 60)
    assert len(instance.statuses) == 1
    return bridge


def titles(instance: MastodonInstance) -> list[str]:
    return [status["text"].partition("New Post: ")[2].partition(" https")[0] for status in instance.statuses]


class TestWhoIsTold:
    @pytest.mark.slow
    def test_each_bridge_by_its_own_options_and_each_of_its_accounts(
        self, blog: BridgedBlog, instance: MastodonInstance
    ) -> None:
        for number, options in enumerate(({}, {"edit_corrected": "on"}, {"delete_withdrawn": "on"})):
            bridge = blog.bridge(**options)
            for name in "ab":
                an_account(bridge, instance, f"{name}{number}")
        blog.new(A)
        blog.pass_by(20, 40, 60)
        assert titles(instance) == ["Bees"] * 6
        blog.new(CORRECTED)
        blog.pass_by(70, 90, 100)
        assert sorted(titles(instance)) == ["Bees"] * 4 + ["Bees, corrected"] * 2
        blog.new()
        blog.pass_by(110, 180, 190)
        assert sorted(titles(instance)) == ["Bees"] * 2 + ["Bees, corrected"] * 2
        assert sorted(kind for kind, *_ in changes()) == ["delete", "delete", "edit", "edit"]

    @pytest.mark.slow
    @pytest.mark.usefixtures("mailbox")
    def test_letters_are_never_changed(self, blog: BridgedBlog, instance: MastodonInstance) -> None:
        newsletter = SubscribableFactory(feeds=[blog.feed])
        SubscriptionFactory(subscribable=newsletter)
        posted(blog, instance)
        blog.new(CORRECTED)
        blog.pass_by(70, 90, 100)
        blog.new()
        blog.pass_by(110, 180)
        assert [kind for kind, *_ in changes()] == ["edit", "delete"]
        assert not Delivery.objects.filter(kind__in=Delivery.CHANGES, destination__kind="email").exists()
        assert MailboxMessage.objects.count() == 1

    @pytest.mark.slow
    def test_an_option_that_was_switched_off_since_counts(
        self, blog: BridgedBlog, instance: MastodonInstance
    ) -> None:
        bridge = posted(blog, instance)
        alter_subscribable(subscribable=bridge, options={})
        blog.new(CORRECTED)
        blog.pass_by(70, 90)
        blog.new()
        blog.pass_by(100, 180)
        assert changes() == []

    @pytest.mark.slow
    def test_posts_from_before_the_option_was_switched_on_stay(
        self, blog: BridgedBlog, instance: MastodonInstance
    ) -> None:
        bridge = posted(blog, instance, summary="on")
        alter_subscribable(subscribable=bridge, options=BOTH)
        blog.new(CORRECTED)
        blog.pass_by(70, 90)
        assert changes() == []

    @pytest.mark.slow
    def test_posts_of_which_no_hash_is_known_are_not_taken_for_corrected(
        self, blog: BridgedBlog, instance: MastodonInstance
    ) -> None:
        """Such as issues made before an upgrade and published after it."""
        bridge = blog.bridge(**BOTH)
        bridge.approval = "click"
        bridge.save()
        an_account(bridge, instance)
        blog.new(A)
        blog.pass_by(20, 40, 60)
        IssueItem.objects.update(content_hash="")
        from delivery.issues.publish import publish

        publish(issue_id=IssueItem.objects.get().issue_id, now=at(65))
        blog.pass_by(70)
        assert titles(instance) == ["Bees"]
        assert not TrackedItem.objects.exists()
        blog.new(A, dated("b", 5))
        blog.pass_by(80, 100, 120)
        assert changes() == []

    @pytest.mark.django_db
    @pytest.mark.parametrize("option", sorted(BOTH))
    def test_digests_are_refused(self, option: str) -> None:
        bridge = BridgeFactory(arrangement="daily")
        with pytest.raises(ValidationError, match=f"{option}: only posts sent one at a time"):
            alter_subscribable(subscribable=bridge, options={option: "on"})
        bridge = BridgeFactory(options={option: "on"})
        with pytest.raises(ValidationError, match="Switch it off, or send each post on its own"):
            alter_subscribable(subscribable=bridge, arrangement="daily")

    @pytest.mark.slow
    def test_words_of_the_bridges_own_code_are_asked_for_anew(
        self, blog: BridgedBlog, instance: MastodonInstance, settings: Any
    ) -> None:
        settings.HOOK_MODULES = ["tests.own_code"]
        bridge = blog.bridge(**BOTH)
        Subscribable.objects.filter(pk=bridge.pk).update(hooks="tests.own_code.words")
        an_account(bridge, instance)
        blog.new(A)
        blog.pass_by(20, 40, 60)
        before = instance.statuses[0]["text"]
        assert "New Post" not in before
        blog.new(CORRECTED)
        blog.pass_by(70, 90, 100)
        assert instance.statuses[0]["text"] != before
        assert "Bees, corrected" in instance.statuses[0]["text"]


class TestNotSentYet:
    @pytest.mark.slow
    def test_what_waits_goes_out_as_it_was_and_is_edited_then(
        self, blog: BridgedBlog, instance: MastodonInstance
    ) -> None:
        an_account(blog.bridge(**BOTH), instance)
        instance.says = Reply(503)
        blog.new(A)
        blog.pass_by(20, 40, 60)
        blog.new(CORRECTED)
        blog.pass_by(70, 90, 100)
        assert changes() == []
        assert Correction.objects.exclude(look_at=None).exists()
        instance.says = None
        blog.work(200)
        blog.work(210)
        assert titles(instance) == ["Bees, corrected"]
        assert changes() == [("edit", "sent", "")]
        assert not Correction.objects.exclude(look_at=None).exists()

    @pytest.mark.django_db
    def test_what_was_withdrawn_before_it_was_sent_is_not_sent(
        self, blog: BridgedBlog, instance: MastodonInstance
    ) -> None:
        an_account(blog.bridge(**BOTH), instance)
        blog.new(A)
        Lane.objects.create(kind="mastodon", account="bot@fake.example", paused=True)
        blog.pass_by(20, 40, 60)
        blog.new()
        blog.pass_by(70, 140, 150)
        Lane.objects.update(paused=False)
        blog.work(200)
        assert instance.statuses == []
        row = Delivery.objects.get()
        assert (row.state, row.last_error) == (
            "cancelled",
            "It was withdrawn from its feed before it was sent.",
        )

    def test_what_may_have_arrived_is_found_first_and_deleted_then(
        self, blog: BridgedBlog, instance: MastodonInstance
    ) -> None:
        an_account(blog.bridge(**BOTH), instance)
        instance.says, instance.now = Reply(takes=True, hangs_up=True), at(60)
        blog.new(A)
        blog.pass_by(20, 40, 60)
        Lane.objects.update(paused=True)
        instance.says = None
        blog.new()
        blog.pass_by(70, 140, 150)
        assert len(instance.statuses) == 1
        Lane.objects.update(paused=False)
        blog.work(200)
        blog.work(210)
        assert instance.statuses == []
        assert changes() == [("delete", "sent", "")]

    @pytest.mark.slow
    def test_what_failed_is_left_alone(self, blog: BridgedBlog, instance: MastodonInstance) -> None:
        an_account(blog.bridge(**BOTH), instance)
        instance.says = Reply(422, {"error": "no"})
        blog.new(A)
        blog.pass_by(20, 40, 60)
        instance.says = None
        blog.new(CORRECTED)
        blog.pass_by(70, 90)
        blog.new()
        blog.pass_by(100, 180)
        assert changes() == []
        assert not Correction.objects.exclude(look_at=None).exists()

    @pytest.mark.slow
    def test_a_pause_holds_edits_up(self, blog: BridgedBlog, instance: MastodonInstance) -> None:
        bridge = posted(blog, instance)
        Subscribable.objects.filter(pk=bridge.pk).update(sending_paused_at=at(65))
        blog.new(CORRECTED)
        blog.pass_by(70, 90, 100)
        assert titles(instance) == ["Bees"]
        Subscribable.objects.filter(pk=bridge.pk).update(sending_paused_at=None)
        blog.work(110)
        assert titles(instance) == ["Bees, corrected"]


class TestWhatGivesWay:
    def waiting(self, blog: BridgedBlog, instance: MastodonInstance, *shown: Any) -> None:
        """Correct each of these while the lane is paused."""
        posted(blog, instance)
        Lane.objects.update(paused=True)
        start = 70
        for one in shown:
            blog.new(*one)
            blog.pass_by(start, start + 20, start + 70)
            start += 80

    @pytest.mark.slow
    def test_an_edit_that_waits_gives_way_to_a_newer_one(
        self, blog: BridgedBlog, instance: MastodonInstance
    ) -> None:
        self.waiting(blog, instance, [CORRECTED], [AGAIN])
        assert changes() == [("edit", "cancelled", NEWER), ("edit", "queued", "")]
        Lane.objects.update(paused=False)
        instance.requests.clear()
        blog.work(300)
        assert titles(instance) == ["Bees, corrected again"]
        assert [request.method for request in instance.requests if request.method != "GET"] == ["PUT"]

    def test_an_edit_that_waits_gives_way_to_a_deletion(
        self, blog: BridgedBlog, instance: MastodonInstance
    ) -> None:
        self.waiting(blog, instance, [CORRECTED], [])
        assert changes() == [("edit", "cancelled", DELETED), ("delete", "queued", "")]
        Lane.objects.update(paused=False)
        blog.work(300)
        assert titles(instance) == []

    def test_an_older_edit_that_is_tried_again_by_hand_changes_nothing(
        self, blog: BridgedBlog, instance: MastodonInstance
    ) -> None:
        self.waiting(blog, instance, [CORRECTED], [AGAIN])
        Lane.objects.update(paused=False)
        blog.work(300)
        older = Delivery.objects.filter(kind="edit").earliest("pk")
        retry_delivery(delivery=older, now=at(310))
        blog.work(310)
        assert titles(instance) == ["Bees, corrected again"]
        older.refresh_from_db()
        assert older.state == "cancelled"
        assert older.last_error.startswith("A newer correction")

    def test_a_bridge_that_was_disconnected_is_left_alone(
        self, blog: BridgedBlog, instance: MastodonInstance
    ) -> None:
        self.waiting(blog, instance, [CORRECTED])
        Subscription.objects.update(status="unsubscribed")
        Lane.objects.update(paused=False)
        blog.work(300)
        assert titles(instance) == ["Bees"]
        assert changes() == [("edit", "cancelled", "Left before it was sent.")]

    def test_an_edit_waits_for_a_token_in_place_of_a_refused_one(
        self, blog: BridgedBlog, instance: MastodonInstance
    ) -> None:
        posted(blog, instance)
        destination = Destination.objects.get()
        destination.secrets = {"access_token": "revoked"}
        destination.save()
        blog.new(CORRECTED)
        blog.pass_by(70, 90)
        assert Destination.objects.get().disabled_at is None
        assert [state for _, state, _ in changes()] == ["queued"]


def test_news_that_cannot_be_passed_on_hold_nothing_else_up(
    blog: BridgedBlog, instance: MastodonInstance, caplog: pytest.LogCaptureFixture
) -> None:
    posted(blog, instance)
    blog.new(dated("b", 62), A)
    for minute in (70, 90, 110):
        blog.read(minute)
    half = {"seen_hash": "2", "seen_since": at(65), "entry": {"title": "half"}}
    TrackedItem.objects.update(news="corrected", **half)
    blog.work(111)
    assert len(instance.statuses) == 2
    assert "a correction cannot be passed on" in caplog.text


class TestTwice:
    def test_the_same_news_make_one_edit_whoever_takes_them(
        self, blog: BridgedBlog, instance: MastodonInstance
    ) -> None:
        posted(blog, instance)
        blog.new(CORRECTED)
        blog.read(70)
        blog.read(90)
        assert take_corrections(now=at(90)) == 1
        assert take_corrections(now=at(91)) == 0
        Correction.objects.update(look_at=at(91))
        assert take_corrections(now=at(91)) == 0
        blog.work(95)
        assert changes() == [("edit", "sent", "")]
        assert take_corrections(now=at(95) + timedelta(days=60)) == 0
        assert not TrackedItem.objects.exists()

    def test_a_worker_that_died_after_the_edit_is_followed_by_another(
        self, blog: BridgedBlog, instance: MastodonInstance
    ) -> None:
        posted(blog, instance)
        blog.new(CORRECTED)
        blog.pass_by(70, 90)
        # The state after the edit was made but its outcome was not recorded.
        edits = Delivery.objects.filter(kind="edit")
        lease = {"lease_token": "0" * 32, "lease_until": at(91)}
        edits.update(state="sending", sent_at=None, begun_at=at(90), **lease)
        assert reap_expired(now=at(93)) == 1
        assert edits.get().state in ("queued", "deferred")
        blog.work(100)
        assert titles(instance) == ["Bees, corrected"]
        assert changes() == [("edit", "sent", "")]

    @pytest.mark.slow
    def test_a_post_that_comes_back_after_its_deletion_is_not_posted_again(
        self, blog: BridgedBlog, instance: MastodonInstance
    ) -> None:
        posted(blog, instance)
        blog.new()
        blog.pass_by(70, 140)
        blog.new(A)
        blog.pass_by(150, 200, 300)
        assert titles(instance) == []
        assert Item.objects.get(guid="a").state == "cleared"


def test_a_quiet_feed_is_read_again_soon_while_a_correction_has_to_stand(
    blog: BridgedBlog, instance: MastodonInstance
) -> None:
    blog.feed.recheck_every_minutes = 10
    blog.feed.pace = "adaptive"
    blog.feed.save()
    posted(blog, instance)
    blog.new(CORRECTED)
    blog.read(70)
    assert blog.feed.next_poll_at - at(70) <= timedelta(minutes=11)
    assert blog.feed.next_poll_why == "settling"
    blog.read(90)
    assert blog.feed.next_poll_why != "settling"
