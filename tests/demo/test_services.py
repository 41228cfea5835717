"""The demo's Mastodon and Discord: the real channels post there, and pages show the posts."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import requests
from django.apps import apps
from django.test import Client
from PIL import Image

from channels import channel
from channels.base import Deletes, Edits, LaneFacts, Permanent, Sent
from channels.letter import Letter, Recipient
from channels.pictures import forget_pictures
from common.ports import channels, registries
from demo.bridges import demo_bridges
from demo.discord.places import API
from demo.mastodon import ACCOUNT, TOKEN
from demo.services import Elsewhere, ServicesServer
from demo.timeline import MOST_POSTS, Timeline
from feeds.parsing.entry import Media
from subscriptions.models import Destination
from tests.contracts.bridge import MARKUP, entry, letter
from tests.contracts.channel import NOW
from tests.delivery.bridges.consenting import Person
from tests.delivery.own_letters import a_read_feed
from tests.pictures import octets_of
from tests.servers.picture_host import PictureHost
from tests.servers.services.discord_client import OURS

pytestmark = pytest.mark.usefixtures("loopback_allowed")
SERVICES = ("mastodon", "discord")


@pytest.fixture
def services(tmp_path: Path, settings: Any) -> Iterator[ServicesServer]:
    forget_pictures()
    elsewhere = Elsewhere(discord="http://127.0.0.1:9/admin/7/")
    server = ServicesServer(tmp_path, lambda: NOW, application=OURS, port=0, elsewhere=elsewhere)
    settings.DISCORD_API_URL = f"http://127.0.0.1:{server.server_port}{API}"
    with server.in_thread():
        yield server


def page(server: ServicesServer, path: str) -> str:
    return requests.get(f"http://127.0.0.1:{server.server_port}{path}", timeout=10).text


def recipient(service: str, **secrets: str) -> Recipient:
    """Return the recipient as after connecting the bridge, with the service's check."""
    [bridge] = [bridge for bridge in demo_bridges() if bridge.service == service]
    kind = channels.get(service)
    made = kind.check(kind.parse_destination({**bridge.data, **secrets}))
    return Recipient(1, made.core, made.label, config=made.config, secrets=made.secrets)


def post(service: str, of: Letter, key: str = "k") -> Any:
    ours, to = channel(service), recipient(service)
    session = ours.connect(LaneFacts(service, to.core))
    return session.send(ours.compose(of, to), key=key, begun_at=None, now=NOW), session, ours.compose(of, to)


@pytest.mark.parametrize("service", SERVICES)
def test_what_a_bridge_posts_is_shown_corrected_and_taken_back(
    services: ServicesServer, service: str
) -> None:
    outcome, session, _ = post(service, letter("Bees in town"))
    assert isinstance(outcome, Sent)
    assert "Bees in town" in page(services, f"/{service}/")
    ours = channel(service)
    corrected = ours.compose(letter("Wasps in town"), recipient(service))
    assert isinstance(session, Edits)
    assert isinstance(session, Deletes)
    edited = session.edit(corrected, remote_id=outcome.remote_id, parts=(), key="k-1", now=NOW)
    assert isinstance(edited, Sent)
    assert "Wasps in town" in (shown := page(services, f"/{service}/"))
    assert "Bees in town" not in shown
    for _ in range(2):
        assert isinstance(session.delete(corrected, remote_id=outcome.remote_id, parts=(), now=NOW), Sent)
    assert "Wasps in town" not in page(services, f"/{service}/")


def test_the_same_key_is_one_status_and_leads_there(services: ServicesServer) -> None:
    outcomes = [post("mastodon", letter("Bees"))[0] for _ in range(2)]
    assert outcomes[0] == outcomes[1]
    assert outcomes[0].url.endswith(f"/mastodon/#{outcomes[0].remote_id}")
    assert page(services, "/mastodon/").count("<article") == 1


def test_pictures_are_shown_with_their_words(services: ServicesServer) -> None:
    with PictureHost() as host:
        host.has(octets_of(Image.new("RGB", (64, 48), "#1f5f8b")))
        picture = Media(f"{host.url}/a.png", "image/png", alt="A bee & a flower")
        for service in SERVICES:
            assert isinstance(post(service, letter(entries=(entry(media=(picture,)),)))[0], Sent)
        shown = page(services, "/mastodon/")
        assert 'alt="A bee &amp; a flower"' in shown
        address = shown.partition('src="')[2].partition('"')[0]
        got = requests.get(f"http://127.0.0.1:{services.server_port}{address}", timeout=10)
        assert got.headers["Content-Type"].startswith("image/")
        assert f'src="{host.url}/a.png"' in page(services, "/discord/")


@pytest.mark.parametrize("service", SERVICES)
def test_what_stands_in_a_post_is_words_on_the_pages(services: ServicesServer, service: str) -> None:
    hostile = f"<script>alert(1)</script> {MARKUP}"
    post(service, letter(entries=(entry(hostile, summary=hostile, authors=(hostile,)),)))
    answer = requests.get(f"http://127.0.0.1:{services.server_port}/{service}/", timeout=10)
    assert "<script>alert" not in answer.text
    assert "<b>g</b>" not in answer.text
    assert "default-src 'none'" in answer.headers["Content-Security-Policy"]


def test_what_was_posted_is_there_after_a_restart(services: ServicesServer, tmp_path: Path) -> None:
    post("discord", letter("Bees"))
    again = Timeline(tmp_path, lambda: NOW)
    assert again.posts("discord") == services.timeline.posts("discord") != []
    assert again.add("discord", {}).number > again.posts("discord")[-1].number


def test_a_long_demo_keeps_the_newest(tmp_path: Path) -> None:
    timeline = Timeline(tmp_path, lambda: NOW)
    first = timeline.keep_picture(b"x", "")
    for number in range(MOST_POSTS):
        timeline.add("discord", {"n": number})
    assert timeline.picture(first) is None
    assert timeline.posts("discord")[0].body == {"n": MOST_POSTS - 1}
    assert list((tmp_path / "pictures").iterdir()) == []


@pytest.mark.parametrize(
    ("service", "field", "value"),
    [
        ("mastodon", "access_token", "another"),
        ("discord", "webhook_url", "https://discord.com/api/webhooks/1100000/another-token-of-a-webhook"),
    ],
)
def test_anothers_credentials_are_refused(
    services: ServicesServer, service: str, field: str, value: str
) -> None:
    with pytest.raises(channels.InvalidDestination, match=f"{field}: "):
        recipient(service, **{field: value})


def test_pages_lead_to_each_other_and_to_the_bridge(services: ServicesServer) -> None:
    assert 'href="http://127.0.0.1:9/admin/7/"' in page(services, "/discord/")
    assert 'href="/discord/"' in page(services, "/mastodon/")
    assert "Page not found" in page(services, "/pictures/../timeline.jsonl")
    assert not isinstance(post("mastodon", letter("x"))[0], Permanent)


def test_only_the_demos_overview_leads_there(
    services: ServicesServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registries, "alert_sources", [])
    config = apps.get_app_config("demo")
    config.ready()
    assert registries.alert_sources == []
    monkeypatch.setenv("FEEDLETTER_DEMO", "/somewhere")
    config.ready()
    ((line,),) = (alerts() for alerts in registries.alert_sources)
    assert line.url == "/mailbox/"
    assert line.also
    assert line.also[1] == f"http://127.0.0.1:{services.server_port}/"


@pytest.mark.django_db
def test_an_account_of_the_demos_mastodon_is_connected_by_a_yes(
    services: ServicesServer, admin_client: Client, settings: Any
) -> None:
    settings.SITE_URL = "http://testserver"
    url = f"http://127.0.0.1:{services.server_port}"
    feed, person = a_read_feed(), Person(admin_client, SimpleNamespace(url=url))
    typed = {"feeds": [feed.pk], "name": "bees", "title": "Bees", "mastodon_instance_url": url}
    shown = person.connects(f"/admin/add-bridge/?kind=mastodon&feed={feed.pk}", typed, "Authorize")
    assert f"Connected as {ACCOUNT} at" in shown
    row = Destination.objects.get()
    assert row.secrets.open() == {"access_token": TOKEN}


def test_a_code_of_the_demos_mastodon_is_good_once_and_for_its_application(services: ServicesServer) -> None:
    url, back = f"http://127.0.0.1:{services.server_port}", "http://testserver/back/"

    def registered() -> dict[str, str]:
        form = {"client_name": "F", "redirect_uris": back, "scopes": "read"}
        made: dict[str, str] = requests.post(f"{url}/api/v1/apps", data=form, timeout=10).json()
        return {name: made[name] for name in ("client_id", "client_secret")}

    ours, others = registered(), registered()
    query = {"client_id": ours["client_id"], "redirect_uri": back, "answer": "yes", "state": "s"}
    there = requests.get(f"{url}/oauth/authorize", params=query, timeout=10, allow_redirects=False)
    code = parse_qs(urlsplit(there.headers["Location"]).query)["code"][0]
    form = {"grant_type": "authorization_code", "code": code, "redirect_uri": back}
    statuses = [
        requests.post(f"{url}/oauth/token", data=form | app, timeout=10).status_code for app in (others, ours)
    ]
    assert statuses == [400, 400]
    elsewhere = query | {"redirect_uri": "http://evil.example/"}
    assert requests.get(f"{url}/oauth/authorize", params=elsewhere, timeout=10).status_code == 400
