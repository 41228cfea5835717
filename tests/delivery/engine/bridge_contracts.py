"""The contract tests of all bridges, run through the engine against their fake services."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest.mock import patch

from django.test import override_settings

from channels.bridge import Bridge
from channels.pictures import forget_pictures
from common.clock import utcnow
from delivery.engine.send_pass import send_due
from delivery.issues.publish import publish
from delivery.models import Account, Delivery, IssueItem
from feeds.parsing.entry import Entry
from subscriptions.models import Subscribable
from tests.contracts.bridge import BridgeContract, entry
from tests.delivery.ledger import Clock
from tests.factories import BridgeFactory, DestinationFactory, IssueFactory, SubscriptionFactory


def contracts() -> Iterator[type[BridgeContract]]:
    """Yield the contracts of all bridges."""
    for file in sorted((Path(__file__).parents[2] / "channels").glob("*/test_*_contract.py")):
        module = import_module(".".join(file.with_suffix("").parts[-4:]))
        for name, found in vars(module).items():
            is_contract = isinstance(found, type) and issubclass(found, BridgeContract)
            # Channels that people sign up for, such as SMS, are tested elsewhere.
            if name.startswith("Test") and is_contract and isinstance(found.channel, Bridge):
                yield found


@contextmanager
def at_its_service(contract: type[BridgeContract]) -> Iterator[Any]:
    """Run the contract's fake service; destinations or settings lead to it."""
    made: Any = contract()
    forget_pictures()
    with made.server() as made.service, made.server() as made.private:
        made.url = made.service.url
        # Fakes that date what they keep use the engine's time.
        made.service.now = utcnow()
        with override_settings(**made.settings()):
            yield made


def a_bridge_of(contract: Any, **options: str) -> Subscribable:
    """Return a bridge that posts each post to the contract's destination."""
    to, kind = contract.recipient(), contract.channel.key
    bridge: Subscribable = BridgeFactory(channel=kind, options={**contract.options, **options})
    kept = {"config": dict(to.config), "secrets": dict(to.secrets)}
    destination = DestinationFactory(kind=kind, core=to.core, label=to.label, **kept)
    if name := contract.channel.shared_account(to.core):
        # Its fields are one secret: the token, for all bots' accounts.
        secrets: Any = {"token": contract.secrets[0]}
        Account.objects.create(name=name, kind=kind, secrets=secrets)
    SubscriptionFactory(subscribable=bridge, destination=destination)
    return bridge


def publish_posts(bridge: Subscribable, now: datetime, *posts: Entry) -> Delivery:
    """Publish an issue of those posts, or of a default one."""
    issue = IssueFactory(subscribable=bridge, published_at=None)
    for position, post in enumerate(posts or [entry()]):
        IssueItem.objects.create(issue=issue, position=position, entry=post.to_json())
    publish(issue_id=issue.pk, now=now)
    return Delivery.objects.get(issue=issue)


def look(now: datetime) -> None:
    """Run a send pass. Webhook receivers refuse calls of another time, so they use its time."""

    class Then(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> datetime:  # type: ignore[override]
            return now

    with patch("standardwebhooks.webhooks.datetime", Then):
        send_due(clock=Clock(now))


def look_every_two_minutes(start: datetime, times: int = 4) -> None:
    for number in range(times):
        look(start + timedelta(minutes=2 * number))


def told_secrets(contract: Any, words: Sequence[str]) -> list[str]:
    """Return the contract's secrets that occur in any of the words."""
    return [secret for secret in contract.secrets if any(secret in each for each in words)]
