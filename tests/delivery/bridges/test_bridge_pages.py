"""The pages of bridges, for users of different permissions and browsers without scripts.

The API of bridges: listing, checking a service, and a test post that is deleted.
A bridge whose Discord channel refuses it for a while: its pages say so, a test resumes it.
"""

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from bs4 import BeautifulSoup
from django.contrib.auth.models import Permission, User
from django.test import Client

from common.clock import utcnow
from common.ports import channels
from common.program import ROOT
from delivery.alerts.pauses import tell_of_pauses
from delivery.bridges.trial_posts import post_test
from delivery.engine.send_pass import send_due
from delivery.issues.publish import publish
from delivery.models import Delivery
from delivery.models.lane import Lane
from feeds.models import Feed
from subscriptions.models import Destination, Subscribable
from tests.api import Api, problem
from tests.channels.discord.letters import api_at
from tests.delivery.bridges.making import a_bridge, fields
from tests.delivery.engine.test_bridges import bridge_to, publish_to
from tests.delivery.ledger import Clock
from tests.delivery.own_letters import a_read_feed
from tests.factories import NOW, FeedFactory, SubscribableFactory, an_issue
from tests.servers.api_server import Reply as ApiReply
from tests.servers.mastodon_instance import TOKEN, MastodonInstance, Reply
from tests.servers.services.discord import Discord

REFUSED = ApiReply(403, {"message": "Missing Permissions", "code": 50013})
pytestmark = pytest.mark.django_db
ADD, PAGE = "/admin/add-bridge/", "/admin/bridge/bees/"


def typed(instance: MastodonInstance, feed: Feed, **other: Any) -> dict[str, Any]:
    given = {f"mastodon_{name}": value for name, value in fields(instance).items()}
    return {**given, "feeds": [feed.pk], "name": "bees", "title": "Bees on Mastodon", **other}


def text_of(client: Client, url: str) -> str:
    answer = client.get(url, follow=True)
    assert answer.status_code == 200
    return BeautifulSoup(answer.content, "html.parser").get_text(" ", strip=True)


def test_each_service_has_a_drawing() -> None:
    drawn = (ROOT / "delivery/static/feedletter/services.svg").read_text()
    assert {kind.key for kind in channels.bridge_kinds()} == set(re.findall('symbol id="([a-z_]+)"', drawn))


def test_each_service_is_offered_with_its_sentence(admin_client: Client) -> None:
    FeedFactory()
    page = text_of(admin_client, ADD)
    for kind in channels.bridge_kinds():
        assert kind.label in page
        assert kind.sentence in page


@pytest.mark.slow
def test_the_pages_of_feeds_newsletters_and_their_list_lead_there(admin_client: Client) -> None:
    feed = FeedFactory()
    newsletter = SubscribableFactory(feeds=[feed])
    bridge = SubscribableFactory(feeds=[feed], channel="mastodon", sign_up="closed", title="On the fediverse")
    for url, to in (
        (f"/admin/feeds/feed/{feed.pk}/change/", f"{ADD}?feed={feed.pk}"),
        (
            f"/admin/subscriptions/subscribable/{newsletter.pk}/change/?tab=share",
            f"{ADD}?newsletter={newsletter.pk}",
        ),
    ):
        page = admin_client.get(url).content.decode()
        assert f'href="{to}"' in page
        assert str(bridge) in page
        form = admin_client.get(f"{to}&kind=mastodon").content.decode()
        assert f'value="{feed.pk}" checked' in " ".join(form.split()) or "checked" in form
    by_feed = text_of(admin_client, f"/admin/feeds/feed/{feed.pk}/change/")
    assert "Bridge Service On the fediverse Mastodon" in by_feed
    assert by_feed.count("On the fediverse") == 1, "it is not called a newsletter, too"
    SubscribableFactory.create_batch(21, feeds=[feed], channel="mastodon", sign_up="closed")
    assert "And 2 others." in text_of(admin_client, f"/admin/feeds/feed/{feed.pk}/change/")
    assert "Add a bridge" in text_of(admin_client, "/admin/subscriptions/subscribable/")
    assert admin_client.get("/admin/subscriptions/subscribable/add-bridge").status_code in (301, 302)


def test_without_a_feed_it_says_so(admin_client: Client) -> None:
    assert "Add a feed" in text_of(admin_client, f"{ADD}?kind=mastodon")


def test_what_is_refused_stands_at_its_field_and_no_secret_comes_back(
    admin_client: Client, instance: MastodonInstance
) -> None:
    feed = a_read_feed()
    url = f"{ADD}?kind=mastodon&feed={feed.pk}"
    page = admin_client.post(url, typed(instance, feed, mastodon_instance_url="ftp://x")).content.decode()
    assert TOKEN not in page
    assert "errorlist" in page or "text-red" in page
    a_bridge(instance)
    page = admin_client.post(url, typed(instance, feed)).content.decode()
    assert "There is a newsletter of this name already." in page or "already exists" in page
    assert Subscribable.objects.count() == 1


def test_the_journey_works_without_scripts(admin_client: Client, instance: MastodonInstance) -> None:
    feed = a_read_feed()
    answer = admin_client.post(f"{ADD}?kind=mastodon&feed={feed.pk}", typed(instance, feed))
    assert answer.headers["Location"] == PAGE
    made = Subscribable.objects.get()
    assert made.stopped
    assert "Connected as bot at" in text_of(admin_client, PAGE)
    connection = made.subscriptions.get()
    admin_client.post(PAGE, {"act": "test", "key": connection.pk})
    [test] = Delivery.objects.all()
    assert instance.statuses[0]["url"] in admin_client.get(PAGE).content.decode()
    admin_client.post(PAGE, {"act": "delete", "key": test.pk})
    assert instance.statuses == []
    admin_client.post(PAGE, {"act": "save", "arrangement": "weekly", "at": "08:30"})
    made.refresh_from_db()
    assert (made.arrangement, str(made.at), made.stopped) == ("weekly", "08:30:00", True)
    admin_client.post(PAGE, {"act": "done", "arrangement": "each", "mastodon_visibility": "unlisted"})
    made.refresh_from_db()
    assert (made.arrangement, made.options, made.stopped) == ("each", {"visibility": "unlisted"}, False)


def test_a_schedule_of_ones_own_stays(admin_client: Client, instance: MastodonInstance) -> None:
    a_bridge(instance, arrangement="every_n", n=3)
    assert "As it is:" in text_of(admin_client, PAGE)
    admin_client.post(PAGE, {"act": "done", "arrangement": "every_n", "at": "07:00"})
    made = Subscribable.objects.get()
    assert (made.arrangement, made.n, made.stopped) == ("every_n", 3, False)


def test_a_bridge_shows_its_last_posts_and_what_the_service_said(
    admin_client: Client, instance: MastodonInstance
) -> None:
    made = a_bridge(instance, stopped=False)
    post_test(subscription=made, now=NOW)
    issue = an_issue(posts=1, subscribable=made.subscribable, published_at=None)
    publish(issue_id=issue.pk, now=NOW)
    Delivery.objects.filter(issue=issue).update(state="failed", last_error="no bees")
    url = f"/admin/subscriptions/subscribable/{made.subscribable_id}/change/"
    page = admin_client.get(url).content.decode()
    assert f'href="{instance.statuses[0]["url"]}"' in page
    assert "failed: no bees" in page
    assert "Send me a test" not in page
    Destination.objects.update(disabled_at=NOW, disabled_reason="The token was revoked.")
    page = text_of(admin_client, url)
    assert "The token was revoked." in page
    assert "Connect again" in page


def test_connecting_again_for_another_account_is_refused(
    admin_client: Client, instance: MastodonInstance
) -> None:
    a_bridge(instance)
    instance.account["id"] = "777"
    given = {f"mastodon_{name}": value for name, value in fields(instance, account="other").items()}
    page = admin_client.post(f"{PAGE}connect/", given).content.decode()
    assert "this bridge posts to bot" in page
    instance.paths["/api/v1/accounts/verify_credentials"] = Reply(503)
    given = {f"mastodon_{name}": value for name, value in fields(instance).items()}
    assert "couldn’t be checked" in admin_client.post(f"{PAGE}connect/", given).content.decode()


def test_a_newsletter_has_no_such_page(admin_client: Client) -> None:
    SubscribableFactory(name="letters")
    assert admin_client.get("/admin/bridge/letters/").status_code == 404
    assert admin_client.get("/admin/bridge/letters/connect/").status_code == 404
    assert admin_client.get("/admin/bridge/nothing/").status_code == 404


def test_who_may_only_look_changes_nothing(instance: MastodonInstance) -> None:
    made = a_bridge(instance)
    user, client = User.objects.create_user("bob", is_staff=True), Client()
    client.force_login(user)
    assert client.get(PAGE).status_code == 403
    user.user_permissions.set(Permission.objects.filter(codename="view_subscribable"))
    page = client.get(PAGE).content.decode()
    assert "Post a test" not in page
    assert "How its newest posts look there" in page
    assert client.post(PAGE, {"act": "test", "key": made.pk}).status_code == 403
    assert client.get(f"{PAGE}connect/").status_code == 403
    assert client.get(ADD).status_code == 403
    assert instance.statuses == []


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


@pytest.fixture
def discord(settings: Any) -> Iterator[Discord]:
    with Discord() as server:
        settings.DISCORD_API_URL = api_at(server.url)
        yield server


@pytest.mark.parametrize("kind", ["discord", "discord_bot"])
@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("loopback_allowed")
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
        page = page_text(admin_client, url)
        assert "takes no posts at the moment" in page, url
        assert "Missing Permissions. New posts wait. It is tried again at" in page, url
        # The bot’s account is shared.
        assert ("Connect again" in page) == (kind == "discord"), url
    assert "Missing Permissions" in pressed_test(admin_client, own, bridge.pk)
    assert tell_of_pauses(now=now) == (kind == "discord")
    discord.says = None
    assert "The newest post was posted" in pressed_test(admin_client, own, bridge.pk)
    assert "takes no posts" not in page_text(admin_client, own)
    send_due(clock=Clock(now + timedelta(seconds=5)))
    posts = Delivery.objects.exclude(kind="alert")
    assert set(posts.values_list("state", flat=True)) == {"sent"}
    assert not Lane.objects.filter(refused_since__isnull=False).exists()


def pressed_test(client: Client, url: str, key: int) -> str:
    answer = client.post(url, {"act": "test", "key": key}, follow=True)
    return BeautifulSoup(answer.content, "html.parser").get_text(" ", strip=True)


def page_text(client: Client, url: str) -> str:
    return BeautifulSoup(client.get(url).content, "html.parser").get_text(" ", strip=True)
