from collections.abc import Callable

import pytest
from django.test import Client

from reader.models import Channel, Reader
from reader.people.readers import add_reader
from tests.factories import NOW
from tests.feeds.conftest import blog, server
from tests.reader.client import MicrosubClient
from tests.servers.feed_server import FeedServer
from tests.servers.own_site import OwnSite

NEEDS_APP = "reader"

__all__ = ["blog", "server"]


@pytest.fixture
def ada(db: None) -> Reader:
    return add_reader(name="ada", now=NOW)


@pytest.fixture
def bob(db: None) -> Reader:
    return add_reader(name="bob", now=NOW)


@pytest.fixture
def home(ada: Reader) -> Channel:
    return ada.channels.get(uid="home")


@pytest.fixture
def api(ada: Reader) -> MicrosubClient:
    return MicrosubClient(ada)


@pytest.fixture
def channel(ada: Reader) -> Callable[[str], Channel]:
    """Return a function that gets or creates a channel of Ada's."""

    def one(name: str) -> Channel:
        made: Channel = ada.channels.get_or_create(name=name, defaults={"uid": name})[0]
        return made

    return one


@pytest.fixture
def web() -> Callable[[Reader], Client]:
    """Return a function that signs a reader in to a browser."""

    def one(reader: Reader) -> Client:
        client = Client()
        client.force_login(reader.user)
        return client

    return one


@pytest.fixture
def browser(web: Callable[[Reader], Client], ada: Reader) -> Client:
    return web(ada)


@pytest.fixture
def own_site(server: FeedServer) -> OwnSite:
    """Return Ada's own site, not connected yet."""
    return OwnSite(server)
