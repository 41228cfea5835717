"""Lanes that share an account, and state that sessions leave for the next one."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from channels.base import Ambiguous, Sent, Temporary
from delivery.accounts.accounts import facts_of
from delivery.engine.claim import claim_due, give_back, reap_expired, with_due
from delivery.engine.outcomes import record_outcomes
from delivery.engine.send_pass import settle
from delivery.engine.send_task import PreparedLetter, SendTask
from delivery.models import Delivery, Lane, RemotePost
from tests.contracts.bridge import letter
from tests.delivery.ledger import MINUTE, SECOND, a_lane, claimed, ended, ended_task, queued
from tests.factories import NOW, BridgeFactory, an_issue

pytestmark = pytest.mark.django_db
UNSURE = [("", "held"), ("repeat", "deferred"), ("skip", "failed")]


def two_lanes(**account: Any) -> tuple[Lane, Lane, Lane]:
    """Create a bot's lane, and the lanes of two of its channels, each with something due."""
    bot = a_lane(kind="discord_bot", account="bot", serial=False, **account)
    one = a_lane(kind="discord_bot", account="bot/1", serial=True, parent=bot)
    two = a_lane(kind="discord_bot", account="bot/2", serial=True, parent=bot)
    queued(2, lane=one)
    queued(2, lane=two)
    return bot, one, two


def test_what_goes_through_one_lane_counts_for_the_account() -> None:
    _, one, two = two_lanes(rate=0.1, burst=1, tokens=1)
    assert len(claimed(lane=one)) == 1
    refused = claim_due(lane_id=two.pk, now=NOW, in_flight=0)
    assert refused.rows == ()
    assert refused.again_at == NOW + 10 * SECOND
    assert len(claimed(lane=two, now=NOW + 10 * SECOND)) == 1


def test_an_account_counts_its_day_over_all_lanes() -> None:
    _, one, two = two_lanes(per_day=1)
    assert len(claimed(lane=one)) == 1
    assert claimed(lane=two, now=NOW + MINUTE) == ()


def test_what_is_given_back_is_the_accounts_again() -> None:
    _, one, two = two_lanes(rate=0.001, burst=1, tokens=1)
    give_back(rows=claimed(lane=one))
    assert len(claimed(lane=two)) == 1


@pytest.mark.parametrize("change", [{"paused": True}, {"free_at": NOW + timedelta(hours=1)}])
def test_of_an_account_that_rests_no_lane_is_asked(change: dict[str, Any]) -> None:
    bot, one, two = two_lanes()
    assert set(with_due(NOW)) == {one, two}
    Lane.objects.filter(pk=bot.pk).update(**change)
    assert list(with_due(NOW)) == []
    assert claimed(lane=one) == ()


def test_a_token_that_is_refused_stops_the_account_and_counts_for_no_message() -> None:
    bot, one, _ = two_lanes()
    [row] = ended(Temporary("401", stops_account=True), *claimed(lane=one))
    assert (row.state, row.attempts) == ("queued", 0)
    bot.refresh_from_db()
    one.refresh_from_db()
    assert (bot.failures, one.failures) == (1, 0)
    assert bot.free_at is not None
    assert bot.free_at > NOW
    assert list(with_due(NOW)) == []


def test_the_first_message_after_it_lets_the_account_recover() -> None:
    bot, one, _ = two_lanes()
    ended(Temporary("401", stops_account=True), *claimed(lane=one))
    later = NOW + timedelta(hours=1)
    rows = claimed(lane=one, now=later)
    settle([ended_task(row, Sent("1"), later) for row in rows])
    bot.refresh_from_db()
    assert bot.failures == 0


def test_a_token_of_the_lanes_own_stops_the_lane() -> None:
    lane = a_lane(kind="telegram", account="alone")
    queued(lane=lane)
    ended(Temporary("401", stops_account=True), *claimed(lane=lane))
    lane.refresh_from_db()
    assert lane.failures == 1


def test_what_a_session_wants_kept_is_given_to_the_next_one() -> None:
    lane = a_lane(kind="bluesky", account="did:plc:x", serial=True)
    queued(lane=lane)
    [row] = claimed(lane=lane)
    task = replace_state(ended_task(row, Sent("at://1")), {"refresh": "r2"})
    settle([task])
    lane.refresh_from_db()
    assert facts_of(lane).state == {"refresh": "r2"}
    assert "r2" not in repr(facts_of(lane))
    assert Delivery.objects.get(pk=row.pk).state == "sent"


def replace_state(task: SendTask, state: dict[str, str]) -> SendTask:
    task.new_state = state
    return task


def test_what_waits_goes_on_when_it_was_said_and_keeps_what_was_done() -> None:
    lane = a_lane(kind="mastodon", account="a@b", serial=True, spacing_seconds=60)
    queued(lane=lane)
    outcome = Temporary("Being prepared.", retry_at=NOW + 5 * SECOND, waits=True, progress={"media": ["7"]})
    [row] = ended(outcome, *claimed(lane=lane))
    assert (row.state, row.attempts, row.due_at) == ("deferred", 0, NOW + 5 * SECOND)
    assert RemotePost.objects.get().progress == {"media": ["7"]}
    assert len(claimed(lane=lane, now=NOW + 5 * SECOND)) == 1


def test_where_a_post_stands_takes_the_place_of_what_was_done() -> None:
    lane = a_lane(kind="mastodon", account="a@b", serial=True)
    [row] = queued(lane=lane)
    RemotePost.objects.create(delivery=row, progress={"media": ["7"]})
    [taken] = claimed(lane=lane)
    settle([ended_task(taken, Sent("1", url="https://b/1", parts=("2", "3")))])
    post = RemotePost.objects.get()
    assert (post.url, post.parts, post.progress) == ("https://b/1", ["2", "3"], {})


@pytest.mark.parametrize(("wish", "state"), UNSURE)
def test_where_nobody_knows_whether_it_arrived_the_newsletters_wish_counts(wish: str, state: str) -> None:
    lane = a_lane(kind="slack", account="x", serial=True)
    queued(lane=lane)
    [row] = claimed(lane=lane)
    task = ended_task(row, Ambiguous("The connection ended."))
    task.prepared = PreparedLetter(replace(letter(), options={"when_unsure": wish}), None)
    record_outcomes([task])
    assert Delivery.objects.get().state == state


@pytest.mark.parametrize(("wish", "state"), [("", "held"), ("repeat", "queued"), ("skip", "failed")])
def test_so_it_does_after_a_worker_that_died(wish: str, state: str) -> None:
    lane = a_lane(kind="slack", account="x", serial=True)
    bridge = BridgeFactory(channel="slack", options={"when_unsure": wish})
    queued(lane=lane, issue=an_issue(subscribable=bridge))
    claimed(lane=lane)
    assert reap_expired(now=NOW + timedelta(hours=1)) == 1
    assert Delivery.objects.get().state == state


def test_a_channel_that_finds_out_by_itself_is_not_asked() -> None:
    lane = a_lane(kind="mastodon", account="a@b", serial=True)
    queued(lane=lane, issue=an_issue(subscribable=BridgeFactory(options={"when_unsure": "skip"})))
    claimed(lane=lane)
    reap_expired(now=NOW + timedelta(hours=1))
    assert Delivery.objects.get().state == "queued"
