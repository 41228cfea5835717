"""Rules and hooks when a post is assigned: accepted, excluded, and waiting posts."""

from collections.abc import Iterator
from datetime import UTC, timedelta
from functools import partial
from typing import Any

import pytest
from django.core.exceptions import ValidationError

from common.admin.html import block
from feeds.items.history import standing
from feeds.models import Feed, Item
from subscriptions.collections import post_rules
from subscriptions.collections.assign import LONGEST_BACKOFF, assign_final, assign_item
from subscriptions.collections.post_rules import MOST_RULES, add_rule, change_rules, drop_rule
from subscriptions.models import Assignable, Assignment, FailedAssignment, LeftOut, PostRule, Subscribable
from subscriptions.newsletters.define import alter_subscribable
from subscriptions.panels import collections_of_post
from tests import own_code
from tests.examples import some_now
from tests.factories import NOW, EveryNFactory, FeedFactory, FinalItemFactory, SubscribableFactory, an_entry

pytestmark = pytest.mark.django_db
SLOW = "(a+)+$"


@pytest.fixture(autouse=True)
def _own_code(settings: Any) -> Iterator[None]:
    settings.HOOK_MODULES = ["tests.own_code"]
    yield
    own_code.SAID.clear()


@pytest.fixture
def feed() -> Feed:
    made: Feed = FeedFactory(title="Blog")
    return made


@pytest.fixture
def weekly(feed: Feed) -> Subscribable:
    made: Subscribable = SubscribableFactory(title="Weekly", feeds=[feed])
    return made


def final(feed: Feed, title: str = "A post", **changes: Any) -> Item:
    made: Item = FinalItemFactory(feed=feed, title=title, **changes)
    return made


def drop(subscribable: Subscribable, pattern: str = "sponsored", **fields: Any) -> PostRule:
    return add_rule(
        subscribable=subscribable, **{"action": "drop", "field": "title", "pattern": pattern, **fields}
    )


def taken_by(item: Item) -> set[Subscribable]:
    """Assign the item; return its newsletters."""
    assert assign_item(item_id=item.pk, now=NOW)
    item.refresh_from_db()
    return {assignable.subscribable for assignable in item.assignables.all()}


def test_a_post_that_a_rule_drops_is_not_taken_and_its_page_says_why(
    feed: Feed, weekly: Subscribable
) -> None:
    drop(weekly)
    item = final(feed, "A sponsored post")
    assert taken_by(item) == set()
    assert (item.state, item.entry) == ("cleared", None)
    assert standing(item, NOW).endswith("“Weekly” left it out: its title contains “sponsored”.")
    row = LeftOut.objects.get()
    assert (row.subscribable, row.item, row.reason) == (weekly, item, "its title contains “sponsored”")
    assert not Assignable.objects.exists()


def test_each_newsletter_has_rules_of_its_own(feed: Feed, weekly: Subscribable) -> None:
    other = SubscribableFactory(feeds=[feed])
    drop(weekly)
    item = final(feed, "A sponsored post")
    assert taken_by(item) == {other}
    assert item.state == "assigned"
    assert "“Weekly” left it out" in standing(item, NOW)


def test_every_n_counts_only_what_is_taken(feed: Feed) -> None:
    subscribable = EveryNFactory(n=2, feeds=[feed])
    drop(subscribable)
    for title in ("sponsored 1", "One", "sponsored 2", "Two", "Three"):
        taken_by(final(feed, title))
    assert [row.assignments.count() for row in Assignable.objects.order_by("pk")] == [2, 1]


def test_a_rule_that_is_not_in_use_does_nothing(feed: Feed, weekly: Subscribable) -> None:
    drop(weekly, active=False)
    assert taken_by(final(feed, "A sponsored post")) == {weekly}


def test_a_post_that_was_left_out_leaves_its_place_to_another_feeds_copy() -> None:
    first, second = FeedFactory(), FeedFactory()
    weekly = SubscribableFactory(feeds=[first, second])
    drop(weekly, "ad:")
    assert taken_by(final(first, "Ad: bees", link_hash="f" * 32)) == set()
    assert taken_by(final(second, "Bees", link_hash="f" * 32)) == {weekly}


def test_a_rule_without_time_takes_the_post_and_shows_its_trouble(feed: Feed, weekly: Subscribable) -> None:
    row = PostRule.objects.create(
        subscribable=weekly, action="drop", field="title", test="matches", pattern=SLOW
    )
    assert taken_by(final(feed, "a" * 5000 + "!")) == {weekly}
    row.refresh_from_db()
    assert row.trouble.startswith("Its regular expression takes too long for this post.")
    assert row.trouble_at == NOW
    row.pattern = "b"
    change_rules(subscribable=weekly, saved=[row])
    assert PostRule.objects.filter(trouble="", trouble_at=None).count() == 1


def test_without_rules_and_hooks_the_content_is_not_looked_at(
    feed: Feed, weekly: Subscribable, django_assert_num_queries: Any
) -> None:
    item = final(feed)
    with django_assert_num_queries(2):
        assert post_rules.verdicts(Item.objects.defer("entry").get(pk=item.pk), now=NOW) == {}


def test_a_post_that_changed_while_rules_were_asked_is_left_for_the_next_time(
    feed: Feed, weekly: Subscribable, monkeypatch: pytest.MonkeyPatch
) -> None:
    item = final(feed)

    def changing(seen: Item, **given: Any) -> dict[int, Any]:
        Item.objects.filter(pk=seen.pk).update(content_hash="v1:other")
        return {}

    monkeypatch.setattr("subscriptions.collections.assign.verdicts", changing)
    assert not assign_item(item_id=item.pk, now=NOW)
    monkeypatch.undo()
    assert taken_by(item) == {weekly}


# --- hooks


def test_the_hook_filter_is_asked_after_the_rules(feed: Feed, weekly: Subscribable) -> None:
    alter_subscribable(subscribable=weekly, hooks="tests.own_code.plain")
    drop(weekly)
    assert taken_by(final(feed, "A sponsored post")) == set()
    assert own_code.SAID == []
    assert taken_by(final(feed, "Bees")) == {weekly}
    ((context, post),) = own_code.SAID
    assert (context.newsletter, context.title, context.feed_urls) == (weekly.name, "Weekly", (feed.url,))
    assert (post.title, post.feed_url) == ("Bees", feed.url)


def test_a_post_that_the_hook_does_not_want_is_left_out(feed: Feed, weekly: Subscribable) -> None:
    alter_subscribable(subscribable=weekly, hooks="tests.own_code.refuses")
    item = final(feed)
    assert taken_by(item) == set()
    assert "“Weekly” left it out: the newsletter’s own code (filter)" in item.reason


@pytest.mark.parametrize(
    ("hooks", "said"),
    some_now(
        [
            (
                "tests.own_code.fails",
                "The hook tests.own_code.fails.filter failed: RuntimeError: out of order.",
            ),
            ("tests.own_code.no_answer", "gave back None, neither True nor False"),
            ("tests.own_code.gone", "tests.own_code has no gone"),
            ("os.path", "may not be loaded"),
        ]
    ),
)
def test_while_own_code_fails_the_post_waits_and_is_tried_less_and_less_often(
    feed: Feed, weekly: Subscribable, hooks: str, said: str
) -> None:
    Subscribable.objects.filter(pk=weekly.pk).update(hooks=hooks)
    other = SubscribableFactory()
    item, fine = final(feed), final(other.feeds.all()[0])
    assert assign_final(clock=lambda: NOW) == 1
    item.refresh_from_db()
    fine.refresh_from_db()
    assert (item.state, fine.state) == ("unassigned", "assigned")
    assert item.entry is not None
    stuck = FailedAssignment.objects.get()
    assert (stuck.item, stuck.failures) == (item, 1)
    assert said in stuck.last_error
    assert said in block(collections_of_post(item))
    assert timedelta() < stuck.next_try_at - NOW < timedelta(minutes=2)
    assert assign_final(clock=lambda: NOW + timedelta(seconds=10)) == 0
    stuck.refresh_from_db()
    assert stuck.failures == 1, "not tried again before its time"
    for failures in range(1, 12):
        stuck = FailedAssignment.objects.get()
        assert stuck.failures == failures
        assert assign_final(clock=partial(stuck.next_try_at.astimezone, UTC)) == 0
    waits = FailedAssignment.objects.get().next_try_at - stuck.next_try_at
    assert LONGEST_BACKOFF * 0.85 < waits < LONGEST_BACKOFF * 1.15
    Subscribable.objects.filter(pk=weekly.pk).update(hooks="tests.own_code.plain")
    assert assign_final(clock=lambda: stuck.next_try_at + 2 * LONGEST_BACKOFF) == 1
    assert not FailedAssignment.objects.exists()
    assert Assignment.objects.filter(item=item).exists()


def test_who_asks_for_all_does_not_wait(feed: Feed, weekly: Subscribable) -> None:
    Subscribable.objects.filter(pk=weekly.pk).update(hooks="tests.own_code.fails")
    final(feed)
    assign_final(clock=lambda: NOW)
    Subscribable.objects.filter(pk=weekly.pk).update(hooks="")
    assert assign_final(clock=lambda: NOW) == 0
    assert assign_final(clock=lambda: NOW, ignore_back_off=True) == 1
    assert not FailedAssignment.objects.exists()


@pytest.mark.parametrize("hooks", ["os.path", "tests.own_code.gone", "tests.factories"])
def test_code_that_may_not_or_cannot_be_loaded_is_refused_at_its_field(
    weekly: Subscribable, hooks: str
) -> None:
    with pytest.raises(ValidationError) as refused:
        alter_subscribable(subscribable=weekly, hooks=hooks)
    assert list(refused.value.message_dict) == ["hooks"]


# --- storing rules


def test_rules_stand_in_the_order_in_which_they_were_added(weekly: Subscribable) -> None:
    rows = [drop(weekly, pattern) for pattern in ("c", "a", "b")]
    assert list(weekly.post_rules.all()) == rows
    drop_rule(rule=rows[1])
    assert [row.pattern for row in weekly.post_rules.all()] == ["c", "b"]


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"pattern": " "}, "pattern"),
        ({"test": "matches", "pattern": "(a"}, "pattern"),
        ({"test": "matches", "pattern": SLOW}, "pattern"),
        ({"action": "replace", "field": "link", "replacement": "x"}, "field"),
        ({"field": "colour"}, "field"),
        ({"pattern": "x" * 501}, "pattern"),
    ],
)
def test_a_rule_that_could_not_work_is_refused_at_its_field(
    weekly: Subscribable, fields: dict[str, str], field: str
) -> None:
    with pytest.raises(ValidationError) as refused:
        drop(weekly, **{"pattern": "x", **fields})
    assert field in refused.value.message_dict
    assert not PostRule.objects.exists()


def test_an_expression_too_slow_for_a_post_that_is_there_is_refused(
    weekly: Subscribable, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow_on = an_entry(title="β" * 3000 + "!")
    monkeypatch.setattr(post_rules, "present_posts", lambda *_: [slow_on])
    with pytest.raises(ValidationError, match="Tried on"):
        drop(weekly, r"(?:\p{Greek}+)+$", test="matches")


def test_a_newsletter_has_so_many_rules_and_no_more(weekly: Subscribable) -> None:
    PostRule.objects.bulk_create(
        PostRule(subscribable=weekly, pattern=str(number)) for number in range(MOST_RULES)
    )
    with pytest.raises(ValidationError, match="At most"):
        drop(weekly, "one more")
    assert weekly.post_rules.count() == MOST_RULES


def test_a_rule_of_another_newsletter_is_not_taken_away(weekly: Subscribable) -> None:
    row = drop(SubscribableFactory())
    change_rules(subscribable=weekly, gone=[row])
    assert PostRule.objects.filter(pk=row.pk).exists()
