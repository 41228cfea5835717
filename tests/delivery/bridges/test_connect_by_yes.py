"""Connecting by OAuth consent: for one user, once, in time, and with errors explained."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.contrib.auth.models import User
from django.test import Client

from delivery.accounts.accounts import add_service_account
from delivery.admin.bridges import add
from delivery.models import Lane, ServiceAccount
from feeds.models import Feed
from subscriptions.models import Destination, Subscribable
from tests.delivery.bridges.consenting import Person, stand_in
from tests.delivery.bridges.making import a_bridge
from tests.delivery.own_letters import a_read_feed
from tests.examples import some_now
from tests.factories import NOW
from tests.servers.api_server import Reply
from tests.servers.mastodon_instance import TOKEN, MastodonInstance
from tests.servers.services import discord as fake_discord
from tests.servers.services.discord import Discord
from tests.servers.services.incoming_webhooks import SLACK_APP, SlackWebhooks

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("loopback_allowed")]
BACK = "/admin/bridge-connected/"
PAGE = "/admin/bridge/bees/"


@pytest.fixture(autouse=True)
def _address(settings: Any) -> None:
    settings.SITE_URL = "http://testserver"


@pytest.fixture
def feed() -> Feed:
    made: Feed = a_read_feed()
    return made


@pytest.fixture
def person(admin_client: Client, instance: MastodonInstance) -> Person:
    return Person(admin_client, instance)


def add_url(kind: str, feed: Feed) -> str:
    return f"/admin/add-bridge/?kind={kind}&feed={feed.pk}"


def typed(feed: Feed, **other: Any) -> dict[str, Any]:
    return {"feeds": [feed.pk], "name": "bees", "title": "Bees there", **other}


def at(instance: MastodonInstance, feed: Feed, **other: Any) -> dict[str, Any]:
    return typed(feed, mastodon_instance_url=instance.url, **other)


class TestMastodon:
    def test_a_yes_makes_a_bridge_that_posts_nothing_yet(
        self, person: Person, instance: MastodonInstance, feed: Feed
    ) -> None:
        page = person.connects(add_url("mastodon", feed), at(instance, feed))
        assert "Connected as bot at" in page
        assert person.led_to == PAGE
        row, made = Destination.objects.get(), Subscribable.objects.get()
        assert row.secrets.open() == {"access_token": TOKEN}
        assert (row.config["account"], row.config["account_id"]) == ("bot", "109")
        assert made.stopped
        assert list(made.feeds.all()) == [feed]
        assert instance.statuses == []

    def test_it_asks_for_what_it_needs_and_no_more_and_proves_that_it_asked(
        self, person: Person, instance: MastodonInstance, feed: Feed
    ) -> None:
        person.connects(add_url("mastodon", feed), at(instance, feed))
        [asked] = instance.consent.asked_for
        assert set(asked["scope"].split()) == {"write:statuses", "write:media", "read:statuses", "profile"}
        assert asked["code_challenge_method"] == "S256"
        assert asked["redirect_uri"] == f"http://testserver{BACK}"

    def test_an_instance_before_4_3_is_asked_as_it_understands(
        self, person: Person, instance: MastodonInstance, feed: Feed
    ) -> None:
        instance.is_before_43 = True
        assert "Connected as bot at" in person.connects(add_url("mastodon", feed), at(instance, feed))
        [asked] = instance.consent.asked_for
        assert "read:accounts" in asked["scope"]
        assert "profile" not in asked["scope"]
        assert "code_challenge" not in asked

    def test_it_is_registered_once_and_again_when_the_instance_forgot_it(
        self, person: Person, instance: MastodonInstance, feed: Feed
    ) -> None:
        for _ in range(2):
            assert person.presses(add_url("mastodon", feed), at(instance, feed))
        assert len(instance.asked("/api/v1/apps")) == 1
        [app] = ServiceAccount.objects.all()
        assert "app-s3cret-0" not in str(app.secrets.token)
        instance.consent.apps.clear()
        assert "Connected as" in person.connects(add_url("mastodon", feed), at(instance, feed))
        assert len(instance.asked("/api/v1/apps")) == 2
        assert ServiceAccount.objects.count() == 1

    def test_what_was_registered_is_listed_asks_nothing_and_can_be_forgotten(
        self, person: Person, instance: MastodonInstance, feed: Feed
    ) -> None:
        person.presses(add_url("mastodon", feed), at(instance, feed))
        [row] = ServiceAccount.objects.all()
        listed = "/admin/delivery/serviceaccount/"
        page = person.client.get(listed).content.decode()
        assert row.label in page
        assert "Mastodon instance" in page
        act = {"_selected_action": row.pk, "index": 0, "action": "ask"}
        said = person.client.post(listed, act, follow=True).content.decode()
        assert "Feedletter registered this application." in said
        assert person.client.get(f"{listed}{row.pk}/change/").status_code == 200
        person.client.post(listed, {**act, "action": "drop", "confirmed": "yes"})
        assert not ServiceAccount.objects.exists()
        assert person.presses(add_url("mastodon", feed), at(instance, feed))

    def test_another_address_of_ours_is_another_application(
        self, person: Person, instance: MastodonInstance, feed: Feed, settings: Any
    ) -> None:
        settings.ALLOWED_HOSTS = ["*"]
        person.presses(add_url("mastodon", feed), at(instance, feed))
        settings.SITE_URL = "http://letters.example"
        person.client.defaults["HTTP_HOST"] = "letters.example"
        assert person.presses(add_url("mastodon", feed), at(instance, feed))
        assert ServiceAccount.objects.count() == 2

    def test_a_wrong_proof_gets_no_token(
        self, person: Person, instance: MastodonInstance, feed: Feed, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("channels.mastodon.bridge.new_verifier", lambda: ("a" * 64, "b" * 43))
        page = person.connects(add_url("mastodon", feed), at(instance, feed))
        assert "was already used or has expired" in page
        assert not Destination.objects.exists()

    def test_a_short_name_that_is_another_account_here_is_refused(
        self, person: Person, instance: MastodonInstance, feed: Feed
    ) -> None:
        a_bridge(instance, feed=feed, name="first")
        instance.account["id"] = "777"
        page = person.connects(add_url("mastodon", feed), at(instance, feed))
        assert "“bot” is bot at" in page
        assert Subscribable.objects.count() == 1
        page = person.connects(add_url("mastodon", feed), at(instance, feed, mastodon_account="bot2"))
        assert "Connected as bot2 at" in page
        assert Destination.objects.count() == 2


class TestWhatGoesWrong:
    def test_a_no_is_told_and_what_was_typed_is_there_again(
        self, person: Person, instance: MastodonInstance, feed: Feed
    ) -> None:
        page = person.connects(add_url("mastodon", feed), at(instance, feed, title="On the meadow"), "No")
        assert "You declined access at 127.0.0.1" in page
        assert f'value="{instance.url}"' in person.page
        assert 'value="On the meadow"' in person.page
        assert 'value="bees"' in person.page
        assert "checked" in person.page
        assert "Connected as" in person.connects(add_url("mastodon", feed), at(instance, feed))

    def test_what_a_service_says_is_shown_as_words(
        self, person: Person, instance: MastodonInstance, feed: Feed
    ) -> None:
        instance.consent.error = "server_error"
        assert "said: The server <b>is</b> tired." in person.connects(
            add_url("mastodon", feed), at(instance, feed)
        )

    def test_a_code_that_is_too_old_is_told(
        self, person: Person, instance: MastodonInstance, feed: Feed
    ) -> None:
        instance.consent.codes_are_over = True
        page = person.connects(add_url("mastodon", feed), at(instance, feed))
        assert "was already used or has expired. Press Connect again." in page

    @pytest.mark.parametrize("reply", [Reply(503), Reply(hangs_up=True), Reply(200, "<html>")], ids=str)
    def test_a_service_that_is_down_afterwards_is_told(
        self, person: Person, instance: MastodonInstance, feed: Feed, reply: Reply
    ) -> None:
        there = person.presses(add_url("mastodon", feed), at(instance, feed))
        back = person.answers(there)
        instance.paths["/oauth/token"] = reply
        led_to = person.comes_back(back).headers["Location"]
        page = person.client.get(led_to).content.decode()
        assert "Nothing was connected:" in page
        assert 'value="bees"' in page
        assert "app-s3cret" not in page
        assert not Destination.objects.exists()

    def test_a_service_that_is_down_before_is_told_at_the_form(
        self, person: Person, instance: MastodonInstance, feed: Feed
    ) -> None:
        instance.paths["/.well-known/oauth-authorization-server"] = Reply(502)
        assert not person.presses(add_url("mastodon", feed), at(instance, feed))
        assert "Nothing was connected: 127.0.0.1" in person.page
        assert f'value="{instance.url}"' in person.page

    def test_an_instance_that_registers_nobody_says_so(
        self, person: Person, instance: MastodonInstance, feed: Feed
    ) -> None:
        instance.takes_registrations = False
        assert not person.presses(add_url("mastodon", feed), at(instance, feed))
        assert "This action is not allowed" in person.page

    def test_without_an_instance_it_is_asked_for(self, person: Person, feed: Feed) -> None:
        assert not person.presses(add_url("mastodon", feed), typed(feed))
        assert "This field is required." in person.page

    def test_an_instance_at_a_private_address_is_not_called(
        self, person: Person, feed: Feed, settings: Any, instance: MastodonInstance
    ) -> None:
        settings.ALLOW_PRIVATE_NETWORKS = []
        assert not person.presses(add_url("mastodon", feed), at(instance, feed))
        assert "has a private address" in person.page
        assert instance.requests == []

    def test_who_came_by_another_address_is_told_where_to_go(
        self, person: Person, instance: MastodonInstance, feed: Feed, settings: Any
    ) -> None:
        settings.SITE_URL = "https://letters.example"
        assert not person.presses(add_url("mastodon", feed), at(instance, feed))
        assert "leads back to https://letters.example, but you opened testserver" in person.page


class TestWhoseYesItIs:
    """RFC 6749 §10.12: consent is valid only for the user who asked for it."""

    def back(self, person: Person, instance: MastodonInstance, feed: Feed) -> str:
        return person.answers(person.presses(add_url("mastodon", feed), at(instance, feed)))

    def refused(self, client: Client, url: str) -> None:
        parts = urlsplit(url)
        page = client.get(f"{parts.path}?{parts.query}", follow=True).content.decode()
        assert "was started in another browser" in page
        assert not Destination.objects.exists()

    def test_it_counts_once(self, person: Person, instance: MastodonInstance, feed: Feed) -> None:
        back = self.back(person, instance, feed)
        person.comes_back(back)
        Destination.objects.all().delete()
        self.refused(person.client, back)
        assert len(instance.asked("/oauth/token")) == 1

    def test_it_counts_in_no_other_session(
        self, person: Person, instance: MastodonInstance, feed: Feed
    ) -> None:
        other = Client()
        other.force_login(User.objects.create_superuser("eve", "eve@example.org"))
        self.refused(other, self.back(person, instance, feed))
        stranger = Client()
        parts = urlsplit(self.back(person, instance, feed))
        assert "/admin/login/" in stranger.get(f"{parts.path}?{parts.query}").headers["Location"]
        assert not [one for one in instance.asked("/oauth/token") if "code" in one.form]

    @pytest.mark.parametrize("state", some_now(["", "x", "ä", "x" * 5000]))
    def test_a_state_of_nobody_counts_for_nothing(
        self, person: Person, instance: MastodonInstance, feed: Feed, state: str
    ) -> None:
        self.back(person, instance, feed)
        self.refused(person.client, f"{BACK}?code=abc&state={state}")
        assert not instance.asked("/oauth/token")

    def test_it_counts_for_ten_minutes(
        self, person: Person, instance: MastodonInstance, feed: Feed, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert timedelta(minutes=10) >= add.LASTS
        monkeypatch.setattr(add, "LASTS", timedelta(seconds=-1))
        back = self.back(person, instance, feed)
        monkeypatch.undo()
        self.refused(person.client, back)

    def test_a_post_counts_for_nothing(self, person: Person) -> None:
        assert person.client.post(BACK).status_code == 405

    def test_who_may_add_no_bridges_may_not_finish_one(
        self, person: Person, instance: MastodonInstance, feed: Feed
    ) -> None:
        back = self.back(person, instance, feed)
        User.objects.update(is_superuser=False)
        assert person.comes_back(back).status_code == 403
        assert not Destination.objects.exists()

    def test_no_secret_stands_in_pages_the_session_or_logs(
        self, person: Person, instance: MastodonInstance, feed: Feed, caplog: pytest.LogCaptureFixture
    ) -> None:
        caplog.set_level("DEBUG")
        there = person.presses(add_url("mastodon", feed), at(instance, feed, mastodon_access_token="typ3d"))
        kept = str(dict(person.client.session))
        state = parse_qs(urlsplit(there).query)["state"][0]
        back = person.answers(there)
        code = parse_qs(urlsplit(back).query)["code"][0]
        person.comes_back(back)
        page = person.client.get(PAGE).content.decode()
        [exchange] = [one for one in instance.asked("/oauth/token") if "code" in one.form]
        hidden = (TOKEN, "app-s3cret-0", exchange.form["code_verifier"], code, "typ3d")
        for secret in hidden:
            assert secret not in kept
            assert secret not in page
            assert secret not in caplog.text
        assert state not in str(person.client.session[add.IN_SESSION])


class TestAgain:
    def again(self, person: Person) -> str:
        return f"{PAGE}connect/?to={Subscribable.objects.get().subscriptions.get().pk}"

    def given(self, instance: MastodonInstance) -> dict[str, Any]:
        return {"mastodon_instance_url": instance.url, "mastodon_account": "bot"}

    def test_the_same_account_goes_on_in_the_same_bridge(
        self, person: Person, instance: MastodonInstance, feed: Feed
    ) -> None:
        made = a_bridge(instance, feed=feed)
        Destination.objects.update(
            disabled_at=NOW, disabled_reason="revoked", secrets={"access_token": "old"}
        )
        Lane.objects.create(kind="mastodon", account=made.destination.core, free_at=NOW, failures=3)
        page = person.connects(self.again(person), self.given(instance))
        assert "Connected as bot at" in page
        row = Destination.objects.get()
        assert (row.pk, row.core, row.disabled_at) == (made.destination_id, made.destination.core, None)
        assert row.secrets.open() == {"access_token": TOKEN}
        assert Lane.objects.get().free_at is None

    def test_another_account_is_asked_about_first(
        self, person: Person, instance: MastodonInstance, feed: Feed
    ) -> None:
        a_bridge(instance, feed=feed)
        Destination.objects.update(disabled_at=NOW, secrets={"access_token": "old"})
        instance.account.update(id="777", acct="wasp")
        page = person.connects(self.again(person), {"mastodon_instance_url": instance.url})
        assert "a different account" in page
        assert "Post to wasp at" in page
        row = Destination.objects.get()
        assert row.disabled_at
        assert row.secrets.open() == {"access_token": "old"}
        answer = person.client.post(person.led_to, {"act": "other"}, follow=True).content.decode()
        assert "It posts to wasp at" in answer
        moved = Destination.objects.get()
        assert moved.core.startswith("wasp@")
        assert moved.disabled_at is None
        assert Destination.objects.count() == 1
        # Valid once.
        again = person.client.post(person.led_to, {"act": "other"}, follow=True).content.decode()
        assert "too long ago" in again

    def test_a_no_leaves_all_as_it_was(self, person: Person, instance: MastodonInstance, feed: Feed) -> None:
        a_bridge(instance, feed=feed)
        Destination.objects.update(disabled_at=NOW, secrets={"access_token": "old"})
        assert "You declined" in person.connects(self.again(person), self.given(instance), "No")
        assert Destination.objects.get().secrets.open() == {"access_token": "old"}


class TestDiscord:
    @pytest.fixture
    def discord(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[Discord]:
        with Discord() as server:
            stand_in(monkeypatch, server, "discord.com")
            yield server

    @pytest.fixture
    def person(self, admin_client: Client, discord: Discord) -> Person:
        app = fake_discord.APP
        discord.consent.apps[app.client_id].redirects.append(f"http://testserver{BACK}")
        values = {"client_id": app.client_id, "client_secret": app.client_secret}
        add_service_account(kind="discord-app", name="discord-app", values=values, now=NOW)
        return Person(admin_client, discord)

    def test_a_yes_makes_a_bridge_to_the_chosen_channel(
        self, person: Person, discord: Discord, feed: Feed
    ) -> None:
        page = person.connects(add_url("discord", feed), typed(feed))
        assert "Connected as Bees" in page
        row = Destination.objects.get()
        assert row.secrets.open()["webhook_url"].endswith(f"/{fake_discord.TOKEN}")
        assert "not-to-be-kept" not in str(row.secrets.open())
        [asked] = discord.consent.asked_for
        assert asked["scope"] == "webhook.incoming"

    @pytest.mark.slow
    def test_again_keeps_the_bridge_though_the_webhook_is_another(
        self, person: Person, discord: Discord, feed: Feed
    ) -> None:
        person.connects(add_url("discord", feed), typed(feed))
        before = Destination.objects.get()
        Destination.objects.update(disabled_at=NOW)
        url = f"{PAGE}connect/?to={Subscribable.objects.get().subscriptions.get().pk}"
        assert "again" in person.connects(url, {})
        row = Destination.objects.get()
        assert (row.pk, row.core, row.disabled_at) == (before.pk, before.core, None)
        assert row.secrets.open() != before.secrets.open()
        discord.chosen_channel = "1200000000000000099"
        assert "a different account" in person.connects(url, {})

    def test_a_webhook_that_was_moved_to_another_channel_is_the_same_one(
        self, person: Person, discord: Discord, feed: Feed
    ) -> None:
        person.connects(add_url("discord", feed), typed(feed))
        row = Destination.objects.get()
        discord.made[row.core] = "1200000000000000099"
        url = f"{PAGE}connect/"
        given = {"discord_webhook_url": row.secrets.open()["webhook_url"], "act": "paste"}
        assert "again." in person.client.post(url, given, follow=True).content.decode()
        row.refresh_from_db()
        assert row.config["channel_id"] == "1200000000000000099"

    def test_a_wrong_secret_is_told(self, person: Person, discord: Discord, feed: Feed) -> None:
        discord.consent.apps[fake_discord.APP.client_id].client_secret = "another"
        page = person.connects(add_url("discord", feed), typed(feed))
        assert "recognise our application’s ID and secret. Give “discord-app” a new" in page

    def test_of_two_applications_one_is_chosen(self, person: Person, discord: Discord, feed: Feed) -> None:
        values = {"client_id": "5", "client_secret": "x"}
        add_service_account(kind="discord-app", name="second", values=values, now=NOW)
        assert "client_id=5&" in person.presses(add_url("discord", feed), typed(feed, app="second"))

    def test_an_application_is_added_by_its_steps(self, admin_client: Client, feed: Feed) -> None:
        page = admin_client.get(add_url("discord", feed)).content.decode()
        way = f"/admin/add-bridge/application/discord/?feed={feed.pk}"
        assert f'href="{way}"' in page
        page = admin_client.get(way).content.decode()
        assert f"http://testserver{BACK}" in page
        assert "discord.com/developers/applications" in page
        refused = admin_client.post(way, {"discord_app_client_id": "1"}).content.decode()
        assert "This field is required." in refused or "discord_app_client_secret" in refused
        given = {"discord_app_client_id": "1", "discord_app_client_secret": "s3cret word"}
        page = admin_client.post(way, given, follow=True).content.decode()
        assert "oken has no such characters" in page
        assert "s3cret word" not in page
        given["discord_app_client_secret"] = "s3cret"
        page = admin_client.post(way, given, follow=True).content.decode()
        assert 'value="ask"' in page
        assert ServiceAccount.objects.get().secrets.open() == {"client_id": "1", "client_secret": "s3cret"}
        assert admin_client.get("/admin/add-bridge/application/mastodon/").status_code == 404
        assert admin_client.get("/admin/add-bridge/application/nothing/").status_code == 404


class TestSlack:
    @pytest.fixture
    def slack(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[SlackWebhooks]:
        with SlackWebhooks() as server:
            stand_in(monkeypatch, server, "slack.com")
            yield server

    @pytest.fixture
    def person(self, slack: SlackWebhooks, admin_user: User, settings: Any) -> Person:
        settings.SITE_URL = "https://testserver"
        slack.consent.apps[SLACK_APP.client_id].redirects.append(f"https://testserver{BACK}")
        values = {"client_id": SLACK_APP.client_id, "client_secret": SLACK_APP.client_secret}
        add_service_account(kind="slack-app", name="slack-app", values=values, now=NOW)
        client = Client()
        client.force_login(admin_user)
        return Person(client, slack)

    def test_a_yes_makes_a_bridge_to_the_chosen_channel(self, person: Person, feed: Feed) -> None:
        page = person.connects(add_url("slack", feed), typed(feed))
        assert "Connected as #News & More in Acme Inc." in page
        row = Destination.objects.get()
        assert row.core.startswith("news-more-acme-inc.@127.0.0.1")
        assert row.config["channel_id"] == "C1"

    def test_what_slack_says_is_told(self, person: Person, slack: SlackWebhooks, feed: Feed) -> None:
        slack.consent.codes_are_over = True
        assert "was already used or has expired" in person.connects(add_url("slack", feed), typed(feed))
        slack.consent.apps[SLACK_APP.client_id].client_secret = "another"
        assert "recognise our application" in person.connects(add_url("slack", feed), typed(feed))

    def test_without_https_it_says_what_to_do(self, person: Person, feed: Feed, settings: Any) -> None:
        settings.SITE_URL = "http://testserver"
        assert not person.presses(add_url("slack", feed), typed(feed))
        assert "leads back to https addresses alone" in person.page
        page = person.client.get("/admin/add-bridge/application/slack/").content.decode()
        assert "https addresses alone" in page

    def test_another_room_of_the_same_name_gets_a_name_of_its_own(
        self, person: Person, slack: SlackWebhooks, feed: Feed
    ) -> None:
        person.connects(add_url("slack", feed), typed(feed))
        slack.channel = ("C2", "#News & More")
        assert "Give another short name" in person.connects(add_url("slack", feed), typed(feed, name="wasps"))
        [row] = Destination.objects.all()
        assert row.config["channel_id"] == "C1"
