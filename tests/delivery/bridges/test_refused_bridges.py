"""A bridge whose Discord channel refuses it for a while: its pages say so, a test resumes it."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from bs4 import BeautifulSoup
from django.test import Client

from common.clock import utcnow
from delivery.alerts.pauses import tell_of_pauses
from delivery.engine.send_pass import send_due
from delivery.models import Delivery
from delivery.models.lane import Lane
from tests.channels.discord.letters import api_at
from tests.delivery.engine.test_bridges import bridge_to, publish_to
from tests.delivery.ledger import Clock
from tests.servers.api_server import Reply
from tests.servers.services.discord import Discord

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("loopback_allowed")]
REFUSED = Reply(403, {"message": "Missing Permissions", "code": 50013})


@pytest.fixture
def discord(settings: Any) -> Iterator[Discord]:
    with Discord() as server:
        settings.DISCORD_API_URL = api_at(server.url)
        yield server


@pytest.mark.parametrize("kind", ["discord", "discord_bot"])
def test_the_pages_say_what_is_refused_and_a_test_asks_again(
    kind: str, discord: Discord, admin_client: Client
) -> None:
    bridge = bridge_to(kind)
    publish_to(bridge)
    discord.says = REFUSED
    now = utcnow()
    send_due(clock=Clock(now))
    own = f"/admin/bridge/{bridge.subscribable.name}/"
    for url in (own, f"/admin/subscriptions/subscribable/{bridge.subscribable_id}/change/"):
        page = text_of(admin_client, url)
        assert "takes no posts at the moment" in page, url
        assert "Missing Permissions. New posts wait. It is tried again at" in page, url
        # The bot’s account is shared.
        assert ("Connect again" in page) == (kind == "discord"), url
    assert "Missing Permissions" in pressed_test(admin_client, own, bridge.pk)
    assert tell_of_pauses(now=now) == (kind == "discord")
    discord.says = None
    assert "The newest post was posted" in pressed_test(admin_client, own, bridge.pk)
    assert "takes no posts" not in text_of(admin_client, own)
    send_due(clock=Clock(now + timedelta(seconds=5)))
    posts = Delivery.objects.exclude(kind="alert")
    assert set(posts.values_list("state", flat=True)) == {"sent"}
    assert not Lane.objects.filter(refused_since__isnull=False).exists()


def pressed_test(client: Client, url: str, key: int) -> str:
    answer = client.post(url, {"act": "test", "key": key}, follow=True)
    return BeautifulSoup(answer.content, "html.parser").get_text(" ", strip=True)


def text_of(client: Client, url: str) -> str:
    return BeautifulSoup(client.get(url).content, "html.parser").get_text(" ", strip=True)
