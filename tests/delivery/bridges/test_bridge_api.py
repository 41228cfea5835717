"""The API of bridges: listing, checking a service, and a test post that is deleted."""

import pytest

from common.ports import channels
from subscriptions.models import Destination
from tests.api import Api, problem
from tests.delivery.bridges.making import a_bridge, fields
from tests.factories import SubscribableFactory
from tests.servers.mastodon_instance import MastodonInstance, Reply

pytestmark = pytest.mark.django_db


def test_channels_say_what_they_ask_for() -> None:
    rows = {row["key"]: row for row in Api("newsletters:read").get("channels/").json()}
    assert rows.keys() == {kind.key for kind in channels.all_kinds()}
    secret = {field["name"]: field["secret"] for field in rows["mastodon"]["destination_fields"]}
    assert secret == {"account": False, "instance_url": False, "access_token": True}
    assert rows["email"]["public_sign_up"]
    problem(Api("feeds:read").get("channels/"), 403)


def test_a_service_is_asked_and_nothing_is_kept(instance: MastodonInstance) -> None:
    api = Api("newsletters:write")
    answer = api.post("channels/check/", channel="mastodon", to=fields(instance))
    assert answer.json()["destination"].startswith("bot at ")
    refused = api.post("channels/check/", channel="mastodon", to=fields(instance, access_token="wr0ng"))
    assert [error["field"] for error in problem(refused, 422)["errors"]] == ["to.access_token"]
    assert "wr0ng" not in refused.content.decode()
    problem(api.post("channels/check/", channel="pigeon", to={"loft": "7"}), 422)
    problem(Api("newsletters:read").post("channels/check/", channel="mastodon", to=fields(instance)), 403)
    assert not Destination.objects.exists()


def test_a_test_is_posted_and_taken_back(instance: MastodonInstance) -> None:
    a_bridge(instance)
    api = Api("newsletters:write")
    [row] = api.post("subscribables/bees/post-test/").json()
    assert row["url"] == instance.statuses[0]["url"]
    assert [gone["id"] for gone in api.post("subscribables/bees/delete-test/").json()] == [row["id"]]
    assert instance.statuses == []
    assert api.post("subscribables/bees/delete-test/").json() == []


def test_what_the_service_says_against_a_test_is_a_conflict(instance: MastodonInstance) -> None:
    a_bridge(instance)
    instance.says = Reply(422, {"error": "no bees"})
    api = Api("newsletters:write")
    assert "no bees" in problem(api.post("subscribables/bees/post-test/"), 409)["detail"]
    SubscribableFactory(name="letters")
    problem(api.post("subscribables/letters/post-test/"), 409)
