"""A Discord on loopback for every test of the bot."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.urls import get_resolver

from tests.servers.feed_server import FeedServer
from tests.servers.services.discord_client import DiscordClient, DiscordService

NEEDS_APP = "chat"


@pytest.fixture
def service(settings: Any, loopback_allowed: None) -> Iterator[DiscordService]:
    # Loading all pages takes a process its first seconds.
    _ = get_resolver().url_patterns
    with DiscordService() as running:
        settings.DISCORD_API_URL, settings.DISCORD_URL = running.base, "https://discord.com"
        settings.SITE_URL = "https://letters.example"
        yield running
        assert not running.interactions.faults, "Discord would have refused that"


@pytest.fixture
def ada(service: DiscordService) -> DiscordClient:
    return DiscordClient(service)


@pytest.fixture
def site() -> Iterator[FeedServer]:
    with FeedServer() as server:
        yield server
