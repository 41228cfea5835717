"""Discord is down for an hour: all posts of that time arrive, in order, and none twice."""

from datetime import timedelta
from typing import Any

import pytest

from channels.discord.bot import DiscordBotBridge
from chat.interactions.work import answer_due
from delivery.models import Delivery
from tests.chat.sites import serve_feed
from tests.chat.test_journey import Rounds, posted
from tests.contracts.bridge import IMPATIENT
from tests.examples import NIGHTLY
from tests.servers.api_server import Reply, Request
from tests.servers.feed_server import FeedServer
from tests.servers.services.discord import GUILD
from tests.servers.services.discord_client import DiscordClient, DiscordService

pytestmark = [NIGHTLY, pytest.mark.django_db(transaction=True)]
TAKEN = Reply(takes=True, hangs_up=True)
SECOND_CHANNEL = "1200000000000000007"


class Outage:
    """Outage: every request gets the next reply, then always the last one."""

    def __init__(self, service: DiscordService, *replies: Reply) -> None:
        self.service, self.replies, self.asked = service, list(replies), 0
        self._usual = service.answer
        service.answer = self._answer  # type: ignore[method-assign]

    def end(self) -> None:
        self.service.answer = self._usual  # type: ignore[method-assign]
        self.service.forget_nonces()

    def _answer(self, request: Request) -> Reply:
        self.asked += 1
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        if reply.takes and self.service.posts(request):
            self._usual(request)
        return reply


@pytest.mark.parametrize(
    "replies",
    [
        [Reply(503)],
        [Reply(hangs_up=True)],
        [Reply(silent=True)],
        [TAKEN],
        [TAKEN, TAKEN, Reply(502, "<html>Bad gateway</html>")],
        [TAKEN, TAKEN, Reply(429, {"retry_after": 30.5, "global": True})],
    ],
    ids=["refuses", "hangs up", "says nothing", "posts and hangs up", "then bad gateway", "then limits"],
)
def test_everything_arrives_in_order_and_once(
    replies: list[Reply],
    service: DiscordService,
    ada: DiscordClient,
    site: FeedServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if replies[0].silent:
        quick: Any = lambda ours, lane: DiscordBotBridge(lane, timeout=IMPATIENT)  # noqa: E731
        monkeypatch.setattr(DiscordBotBridge, "connect", quick)
    rounds = Rounds()
    service.channels[SECOND_CHANNEL] = GUILD
    url = serve_feed(site, posts=0)
    for channel in ("", SECOND_CHANNEL):
        ada.command("feed add", url=url, **({"channel": channel} if channel else {}))
        answer_due()
    rounds(2)
    outage = Outage(service, *replies)
    began = rounds.now
    for number in range(1, 7):
        serve_feed(site, posts=number, began=began - timedelta(hours=number, minutes=-10 * number))
        service.now = rounds.now
        rounds(1)
    assert outage.asked > 1
    assert not Delivery.objects.filter(state="sent").exists()
    outage.end()
    for _ in range(24):
        service.now = rounds.now
        rounds(1)
    assert not Delivery.objects.exclude(state="sent").exists()
    wanted = [f"Post {number}" for number in range(1, 7)]
    for channel in service.channels:
        here = [message for message in service.messages if message["channel_id"] == channel]
        titles = [card["title"] for message in here for card in message["embeds"]]
        assert titles in (wanted, []), channel
    assert len(posted(service)) == 2 * len(wanted)
