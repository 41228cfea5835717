"""Newsletters with records in an account at a fake server."""

from typing import Any

from delivery.bridges.records import switch_on
from subscriptions.models import Destination, Subscribable
from tests.factories import NOW, DestinationFactory, SubscribableFactory
from tests.servers.services.bluesky import DID, HANDLE, PASSWORD


def an_account(url: str = "https://pds.example") -> Destination:
    """Return the account of a Bluesky bridge."""
    config = {"handle": HANDLE, "did": DID, "service_url": url, "pds": url}
    facts = {"core": DID, "label": f"@{HANDLE}", "config": config, "secrets": {"app_password": PASSWORD}}
    made: Destination = DestinationFactory(kind="bluesky", **facts)
    return made


def recorded(url: str = "https://pds.example", **facts: Any) -> Subscribable:
    made: Subscribable = SubscribableFactory(**facts)
    account = Destination.objects.filter(kind="bluesky").first() or an_account(url)
    switch_on(made, account, now=NOW)
    return made
