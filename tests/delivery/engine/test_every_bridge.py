"""Every bridge's way from the ledger to its service and back, by the engine and on the rows themselves."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from common.clock import utcnow
from delivery.channels.pictures import forget_pictures
from delivery.engine.send_pass import send_due
from delivery.issues.publish import publish
from delivery.models import Delivery, RemotePost
from subscriptions.models import Subscribable
from tests.contracts.bridge import BridgeContract
from tests.contracts.channel import Answer
from tests.delivery.ledger import Clock
from tests.factories import BridgeFactory, DestinationFactory, SubscriptionFactory, an_issue

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("loopback_allowed")]


def contracts() -> Iterator[type[BridgeContract]]:
    """Those of all bridges."""
    for file in sorted((Path(__file__).parents[1] / "channels").glob("*/test_*_contract.py")):
        module = import_module(".".join(file.with_suffix("").parts[-5:]))
        for name, found in vars(module).items():
            if name.startswith("Test") and isinstance(found, type) and issubclass(found, BridgeContract):
                yield found


@contextmanager
def at_its_service(contract: type[BridgeContract]) -> Iterator[Any]:
    """The contract with its fake service running; skipped where the address is the service's own."""
    made: Any = contract()
    with made.server() as made.service, made.server() as made.private:
        made.url = made.service.url
        to = made.recipient()
        if made.url not in str({**to.config, **to.secrets}):
            pytest.skip("It asks the service at the service's own address.")
        yield made


def an_issue_to(contract: Any, now: datetime) -> Delivery:
    to = contract.recipient()
    newsletter: Subscribable = BridgeFactory(channel=contract.channel.key, options=dict(contract.options))
    kept = {"config": dict(to.config), "secrets": dict(to.secrets)}
    destination = DestinationFactory(kind=contract.channel.key, core=to.core, label=to.label, **kept)
    SubscriptionFactory(subscribable=newsletter, destination=destination)
    publish(issue_id=an_issue(posts=1, subscribable=newsletter, published_at=None).pk, now=now)
    return Delivery.objects.get()


@pytest.mark.parametrize("contract", list(contracts()), ids=lambda contract: contract.__name__)
def test_an_issue_arrives_once_and_where_it_stands_is_kept(contract: type[BridgeContract]) -> None:
    forget_pictures()
    with at_its_service(contract) as bridge:
        # Of now: receivers of webhooks refuse what is old.
        start = utcnow()
        row = an_issue_to(bridge, start)
        for minute in range(4):
            send_due(clock=Clock(start + timedelta(minutes=2 * minute)))
        row.refresh_from_db()
        assert (row.state, row.last_error) == ("sent", "")
        assert len(bridge.arrived()) == 1
        remote = RemotePost.objects.filter(delivery=row).first()
        assert remote is None or not remote.url or remote.url.startswith(("https://", "http://"))


@pytest.mark.parametrize("contract", list(contracts()), ids=lambda contract: contract.__name__)
def test_what_a_service_will_never_take_is_said_on_the_delivery(contract: type[BridgeContract]) -> None:
    with at_its_service(contract) as bridge:
        if Answer.REFUSED in contract.not_applicable:
            pytest.skip(contract.not_applicable[Answer.REFUSED])
        row = an_issue_to(bridge, start := utcnow())
        bridge.server_says(Answer.REFUSED)
        send_due(clock=Clock(start))
        row.refresh_from_db()
        assert row.state == "failed"
        assert row.last_error
        assert row.destination.disabled_at is None
        assert not any(secret in row.last_error for secret in contract.secrets)
