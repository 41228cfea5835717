from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.test import Client

from channels.activitypub.channel import FEDIVERSE
from channels.activitypub.signatures import public_pem, sign
from common.clock import utcnow
from delivery.models import Account
from fediverse.actors import KEY, private_key, switch_on
from fediverse.exchange import exchange_due
from subscriptions.models import Subscribable
from tests.factories import SubscribableFactory
from tests.servers.services.fediverse import FediverseServer, a_key

SECOND_DATABASE = True
SITE = "https://letters.example"
BEES = f"{SITE}/s/bees/actor"
Tell = Callable[..., int]


@pytest.fixture
def bees(settings: Any, transactional_db: None) -> Subscribable:
    settings.SITE_URL = SITE
    settings.ALLOWED_HOSTS = ["*"]
    secrets: Any = {"private": a_key("site")}
    Account.objects.create(kind=KEY, name=FEDIVERSE, secrets=secrets)
    newsletter = SubscribableFactory(name="bees", title="Bees", arrangement="each", visibility="public")
    switch_on(newsletter, now=utcnow())
    made: Subscribable = newsletter
    return made


@pytest.fixture
def server(bees: Subscribable, loopback_allowed: None) -> Iterator[FediverseServer]:
    with FediverseServer(public_pem(private_key())) as running:
        yield running


@pytest.fixture
def tell(server: FediverseServer, client: Client) -> Tell:
    """Return a function that posts a signed activity to the inbox, and lets the worker do its work."""

    def send(kind: str, name: str, about: Any, *, method: Any = sign, **more: Any) -> int:
        activity = server.activity(kind, name, about, **more)
        body, headers = server.signed(activity, f"{SITE}/fediverse/inbox", method=method)
        answer = client.post(
            "/fediverse/inbox", body, content_type="application/activity+json", headers=headers
        )
        exchange_due()
        return answer.status_code

    return send
