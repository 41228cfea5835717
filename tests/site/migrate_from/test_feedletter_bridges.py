"""Bridges of feedletter: they arrive with their accounts, paused, and post nothing twice."""

from datetime import timedelta
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from common.admin.html import object_url
from delivery.admin.bridges.add import set_up_url
from delivery.alerts.pauses import tell_of_pauses
from delivery.bridges.connect import connections_of, reconnect, typed_destination
from delivery.models import Delivery
from subscriptions.models import Destination, Subscribable, Subscription
from tests.servers.api_server import Reply
from tests.servers.mastodon_instance import TOKEN
from tests.servers.services.bluesky import DID, HANDLE, PASSWORD
from tests.site.migrate_from.feedletter_dump import NOW, Services, dump, run, services, site, start
from tests.site.migrate_from.test_cordfeeder import rounds, words

__all__ = ["dump", "services", "site"]
SECOND_DATABASE = True
pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)


@pytest.fixture
def secrets(services: Services, dump: Path, tmp_path: Path) -> Path:
    dump.write_text(dump.read_text().replace('"blog.example.org"', f'"{HANDLE}"'))
    file = tmp_path / "feedletter-secrets.properties"
    file.write_text(
        f"feedletter.masto.access.token.mothership={TOKEN}\nfeedletter.bsky.identifier.{HANDLE}: {PASSWORD}\n"
    )
    return file


@pytest.mark.django_db(transaction=True)
def test_bridges_arrive_connected_and_post_only_what_is_new(
    services: Services, dump: Path, secrets: Path
) -> None:
    facts = run(dump, "--secrets", str(secrets))
    bridges = {each.name: each for each in Subscribable.objects.exclude(channel="email")}
    assert {name: each.channel for name, each in bridges.items()} == {
        "river-masto": "mastodon",
        "river-bsky": "bluesky",
    }
    assert bridges["river-bsky"].params == {"tone": "dry"}
    assert all(each.sending_paused_at for each in bridges.values())
    (masto,), (bsky,) = (connections_of(bridges[name]) for name in ("river-masto", "river-bsky"))
    assert (masto.upstream_id, bsky.upstream_id, bsky.destination.core) == (16, 17, DID)
    assert masto.destination.config["account_id"] == "109"
    assert not [line for line in facts["lines"] if "token" in line["words"]]
    assert TOKEN not in str(facts)
    assert PASSWORD not in str(facts)
    rounds(3, begin=NOW)
    assert not services.mastodon.statuses
    start("river-masto", "river-bsky")
    rounds(4, begin=NOW + HOUR)
    (status,) = services.mastodon.statuses
    assert "Post 8" in status["content"]
    (record,) = services.bluesky.records.values()
    assert "Post 8" in str(record)


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_a_bridge_that_is_resumed_without_a_token_waits_for_one_and_loses_nothing(
    services: Services, dump: Path, admin_client: Client
) -> None:
    facts = run(dump)
    assert "press Connect again" in words(facts, "changed")
    start("river-masto")
    rounds(3, begin=NOW)
    bridge = Subscribable.objects.get(name="river-masto")
    assert not services.mastodon.requests
    assert set(Delivery.objects.filter(issue__subscribable=bridge).values_list("state", flat=True)) == {
        "queued"
    }
    tell_of_pauses(now=NOW + HOUR)
    assert Delivery.objects.get(kind="alert").context["subject"] == "Posts of “river-masto” are waiting"
    for url in (object_url(bridge), set_up_url(bridge)):
        shown = unescape(admin_client.get(url).content.decode())
        assert "isn’t connected: this site has no credentials for it" in shown
        assert ">Connect again</a>" in shown
    (masto,) = connections_of(bridge)
    typed = {"account": "mothership", "instance_url": services.mastodon.url, "access_token": TOKEN}
    reconnect(destination=masto.destination, parsed=typed_destination("mastodon", typed), now=NOW)
    rounds(4, begin=NOW + HOUR)
    (status,) = services.mastodon.statuses
    assert "Post 8" in status["content"]


def test_a_refused_token_is_reported_and_the_bridge_arrives(
    services: Services, dump: Path, secrets: Path
) -> None:
    services.bluesky.revoke()
    services.mastodon.says = Reply(503)
    facts = run(dump, "--secrets", str(secrets))
    assert "It could not be connected: " in words(facts, "changed")
    assert Subscription.objects.filter(subscribable__name="river-bsky", status="confirmed").exists()


def test_an_account_that_this_site_has_keeps_its_token(services: Services, dump: Path, secrets: Path) -> None:
    secret: Any = {"app_password": "own"}
    own = Destination.objects.create(
        kind="bluesky", core=DID, label="@own", config={"did": DID}, secrets=secret
    )
    run(dump, "--secrets", str(secrets))
    (bsky,) = connections_of(Subscribable.objects.get(name="river-bsky"))
    assert bsky.destination.pk == own.pk
    assert bsky.destination.secrets.open() == {"app_password": "own"}


def test_a_name_that_cannot_be_an_account_is_refused_with_a_reason(services: Services, dump: Path) -> None:
    dump.write_text(dump.read_text().replace('"mothership"', '"mother ship"'))
    facts = run(dump)
    assert "river-masto (mother ship): account: " in words(facts, "not taken")
    assert not connections_of(Subscribable.objects.get(name="river-masto"))
