"""A service that refuses too many requests rests with all its lanes, is retried slowly, reported once."""

from datetime import datetime, timedelta

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.test import Client
from django.urls import reverse

from channels.base import Sent, Temporary
from channels.discord.service import BREAKER
from common.clock import utcnow
from delivery.alerts.pauses import tell_of_pauses
from delivery.engine.claim import claim_due, with_due
from delivery.engine.send_pass import settle
from delivery.lanes.lanes import count_refusals, in_turn, resting_kinds, take_turn, why_resting
from delivery.models import Delivery, Lane, ServiceBreaker
from tests.delivery.ledger import HOUR, MINUTE, SECOND, a_lane, claimed, ended_task, queued, states
from tests.factories import NOW, FeedFactory
from tests.races import beside

TEN_MINUTES = 10 * MINUTE


def refused(number: int, *, kind: str = "discord", now: datetime = NOW) -> None:
    with transaction.atomic():
        count_refusals({kind: number}, said="Discord answered 401: Unauthorized", now=now)


def lanes_of_services() -> tuple[Lane, Lane, Lane]:
    """Create lanes of a webhook, a bot's channel and an instance's account, each with something due."""
    bot = a_lane(kind="discord_bot", account="bot", serial=False)
    lanes = (
        a_lane(kind="discord", account="1", serial=True),
        a_lane(kind="discord_bot", account="bot/2", serial=True, parent=bot),
        a_lane(kind="mastodon", account="a@b", serial=True),
    )
    for lane in lanes:
        queued(2, lane=lane)
    return lanes


@pytest.mark.django_db
class TestRest:
    def test_all_its_lanes_rest_and_no_others(self) -> None:
        webhook, bot, mastodon = lanes_of_services()
        refused(1_500)
        assert set(with_due(NOW)) == {webhook, bot, mastodon}
        refused(499, kind="discord_bot", now=NOW + 9 * MINUTE)
        assert resting_kinds(NOW + 9 * MINUTE) == []
        refused(1, now=NOW + 9 * MINUTE)
        later = NOW + 19 * MINUTE - SECOND
        assert set(resting_kinds(later)) == {"discord", "discord_bot"}
        assert list(with_due(later)) == [mastodon]
        claim = claim_due(lane_id=webhook.pk, now=later, in_flight=0)
        assert (claim.rows, claim.again_at) == ((), NOW + 19 * MINUTE)
        assert states() == {"queued": 6}

    def test_what_was_refused_before_counts_no_more(self) -> None:
        refused(1_999)
        refused(1_999, now=NOW + 11 * MINUTE)
        assert resting_kinds(NOW + 11 * MINUTE) == []

    def test_after_it_one_message_goes_at_a_time(self) -> None:
        webhook, bot, mastodon = lanes_of_services()
        refused(2_000)
        begins = NOW + TEN_MINUTES
        chosen = in_turn(with_due(begins), begins)
        assert mastodon in chosen
        assert len(chosen) == 2
        assert len(claimed(lane=webhook, now=begins)) == 1
        waits = claim_due(lane_id=bot.pk, now=begins, in_flight=0)
        assert (waits.rows, waits.again_at) == ((), begins + BREAKER.pace)
        assert len(claimed(lane=bot, now=begins + BREAKER.pace)) == 1
        assert len(claimed(lane=mastodon, now=begins)) == 1

    def test_after_that_it_is_as_before(self) -> None:
        webhook, bot, _ = lanes_of_services()
        refused(2_000)
        well = NOW + 2 * TEN_MINUTES
        assert {webhook, bot} <= set(in_turn(with_due(well), well))
        assert len(claimed(lane=webhook, now=well)) == len(claimed(lane=bot, now=well)) == 1
        assert why_resting("discord", well) == ""

    @pytest.mark.parametrize("outcome", [Sent("1"), Temporary("401", stops_account=True)])
    def test_the_refusals_of_a_message_are_counted_with_its_outcome(self, outcome: Sent | Temporary) -> None:
        """A sent message may have had refusals, too."""
        webhook, *_ = lanes_of_services()
        [row] = claimed(lane=webhook)
        task = ended_task(row, outcome)
        task.refusals = 2_000
        settle([task])
        assert resting_kinds(NOW) == ["discord", "discord_bot"]

    def test_channels_without_a_breaker_write_nothing(self) -> None:
        refused(5_000, kind="mastodon")
        assert not ServiceBreaker.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_two_processes_count_together() -> None:
    refused(1)
    beside(lambda: refused(1_500), lambda: refused(500))
    assert resting_kinds(NOW) == ["discord", "discord_bot"]


@pytest.mark.django_db(transaction=True)
def test_of_two_processes_one_takes_the_turn_of_a_service_that_is_tried_slowly() -> None:
    refused(2_000)
    later = NOW + TEN_MINUTES + SECOND

    def ask() -> datetime | None:
        return take_turn("discord", later)

    assert beside(ask, ask) == (None, later + BREAKER.pace)


@pytest.mark.django_db
class TestWords:
    def test_it_is_told_once_however_often_it_rests(self) -> None:
        User.objects.create_superuser("ada", "ada@example.org", "x")
        refused(2_000)
        tell_of_pauses(now=NOW)
        again = NOW + 25 * MINUTE
        refused(2_000, now=again)
        tell_of_pauses(now=again + 4 * HOUR)
        tell_of_pauses(now=again + MINUTE)
        mail = Delivery.objects.get(kind="alert")
        assert mail.context["subject"] == "Messages for Discord are waiting"
        assert "2,000 requests within 10 minutes" in mail.context["sentences"][0]
        assert "401: Unauthorized" in mail.context["sentences"][0]

    def test_another_trouble_is_told_anew(self) -> None:
        User.objects.create_superuser("ada", "ada@example.org", "x")
        for now in (NOW, NOW + timedelta(days=1)):
            refused(2_000, now=now)
            tell_of_pauses(now=now)
        assert Delivery.objects.filter(kind="alert").count() == 2

    def test_the_overview_and_the_lanes_say_so(self, admin_client: Client) -> None:
        lane = a_lane(kind="discord", account="1", serial=True)
        FeedFactory()
        refused(2_000, now=utcnow())
        pages = (reverse("admin:index"), reverse("admin:delivery_lane_change", args=[lane.pk]))
        for page in pages:
            shown = admin_client.get(page).content.decode()
            assert "Discord refused 2,000 requests within 10 minutes" in shown
            assert "then resumes slowly" in shown
        listed = admin_client.get(reverse("admin:delivery_lane_changelist")).content.decode()
        assert "resting" in listed.lower()
