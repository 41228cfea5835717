"""A bridge is connected only after its service confirms it."""

import pytest
from django.core.exceptions import ValidationError

from common.ports.channels import InvalidDestination, ParsedDestination
from delivery.bridges.connect import check_again, reconnect, typed_destination
from delivery.models import Lane
from subscriptions.models import Destination, Subscribable, Subscription
from tests.delivery.bridges.making import a_bridge, fields
from tests.factories import NOW
from tests.servers.mastodon_instance import TOKEN, MastodonInstance, Reply

pytestmark = pytest.mark.django_db
WHO, INVALID = "/api/v1/accounts/verify_credentials", Reply(401, {"error": "The access token is invalid"})


def typed(instance: MastodonInstance, **other: str) -> ParsedDestination:
    return typed_destination("mastodon", fields(instance, **other))


def test_a_new_bridge_is_connected_and_posts_nothing_yet(instance: MastodonInstance) -> None:
    made = a_bridge(instance)
    assert made.status == Subscription.Status.CONFIRMED
    assert made.subscribable.stopped
    assert Destination.objects.get().secrets.open() == {"access_token": TOKEN}


def test_what_the_service_refuses_leaves_no_bridge(instance: MastodonInstance) -> None:
    instance.paths["/api/v1/accounts/verify_credentials"] = Reply(
        401, {"error": "The access token is invalid"}
    )
    with pytest.raises(InvalidDestination, match="access_token"):
        a_bridge(instance)
    assert not Subscribable.objects.exists()
    assert not Destination.objects.exists()


def test_a_name_that_is_taken_leaves_no_second_bridge(instance: MastodonInstance) -> None:
    a_bridge(instance)
    with pytest.raises(ValidationError, match="name"):
        a_bridge(instance)
    assert Subscribable.objects.count() == 1


def test_a_destination_that_was_disabled_goes_on_with_new_credentials(instance: MastodonInstance) -> None:
    made = a_bridge(instance)
    Destination.objects.update(disabled_at=NOW, disabled_reason="401", secrets={"access_token": "old"})
    Lane.objects.create(
        kind="mastodon", account=made.destination.core, free_at=NOW, failures=3, last_error="401"
    )
    reconnect(destination=made.destination, parsed=typed(instance), now=NOW)
    row, lane = Destination.objects.get(), Lane.objects.get()
    assert (row.disabled_at, row.disabled_reason) == (None, "")
    assert row.secrets.open() == {"access_token": TOKEN}
    assert (lane.free_at, lane.failures, lane.last_error) == (None, 0, "")


def test_connecting_again_is_for_the_same_account(instance: MastodonInstance) -> None:
    made = a_bridge(instance)
    instance.account["id"] = "777"
    with pytest.raises(InvalidDestination, match="this bridge posts to bot"):
        reconnect(destination=made.destination, parsed=typed(instance, account="other"), now=NOW)
    assert Destination.objects.count() == 1


def test_the_same_account_under_another_short_name_stays_the_same_destination(
    instance: MastodonInstance,
) -> None:
    made = a_bridge(instance)
    row = reconnect(destination=made.destination, parsed=typed(instance, account="other"), now=NOW)
    assert (row.pk, row.core) == (made.destination.pk, made.destination.core)
    assert row.label.startswith("other at")


def test_a_destination_of_before_its_account_was_kept_is_known_by_its_name(
    instance: MastodonInstance,
) -> None:
    made = a_bridge(instance)
    config = {name: value for name, value in made.destination.config.items() if name != "account_id"}
    Destination.objects.update(config=config)
    row = Destination.objects.get()
    with pytest.raises(InvalidDestination, match="this bridge posts to bot"):
        reconnect(destination=row, parsed=typed(instance, account="other"), now=NOW)
    assert reconnect(destination=row, parsed=typed(instance), now=NOW).config["account_id"] == "109"


def test_what_is_stored_can_be_asked_again(instance: MastodonInstance) -> None:
    made = a_bridge(instance)
    row = Destination.objects.get(pk=made.destination.pk)
    assert check_again(row) == row.label
    instance.paths["/api/v1/accounts/verify_credentials"] = Reply(
        401, {"error": "The access token is invalid"}
    )
    with pytest.raises(InvalidDestination):
        check_again(row)
