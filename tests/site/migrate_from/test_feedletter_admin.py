"""feedletter's dump on the admin's page: its questions, the preview, the import, and dead workers."""

from html import unescape
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from delivery.bridges.connect import connections_of
from delivery.models import Issue
from feedletter_site.migrate_from import take_over
from feedletter_site.migrate_from.feeds import FeedPart
from feedletter_site.models import Arrival
from feeds.models import Feed, Item
from subscriptions.models import Assignment, Subscribable
from subscriptions.subscribers.sign_up import upstream_salts
from tests.servers.mastodon_instance import TOKEN
from tests.site.migrate_from.feedletter_dump import NAMES, NOW, SALT, ZONE, Services, dump, services, site
from tests.site.migrate_from.pages import act, page
from tests.site.migrate_from.test_admin_arrivals import ADD, Killed, dies_at, work
from tests.site.migrate_from.test_cordfeeder import everything

__all__ = ["dump", "services", "site"]
NEEDS_APP = "chat"
pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def then(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let workers live just after the dump was made."""
    monkeypatch.setattr(take_over, "utcnow", lambda: NOW)


def choose(client: Client, place: Path, **data: Any) -> Any:
    file = SimpleUploadedFile("dump.sql", place.read_bytes())
    return client.post(ADD, {"program": "feedletter", "file": file, **data})


def test_the_page_asks_for_the_time_zone(admin_client: Client, dump: Path) -> None:
    shown = admin_client.get(ADD).content.decode()
    assert "feedletter (Scala)" in shown
    assert f'<option value="{ZONE}">' in shown
    for given in ({}, {"zone": "Mars/Olympus"}):
        assert choose(admin_client, dump, **given).status_code == 200
    assert "Choose the time zone of the machine" in choose(admin_client, dump).content.decode()
    assert not Arrival.objects.exists()


@pytest.mark.slow
def test_from_the_dump_to_the_report(admin_client: Client, dump: Path) -> None:
    choose(admin_client, dump, zone=ZONE, stale="skip", queued="drop")
    row = Arrival.objects.get()
    work()
    shown = unescape(page(admin_client, row))
    assert not Feed.objects.exists()
    for said in ("Can’t be imported: ", "2026-day362", ZONE, "Don’t send them", "List and drop them"):
        assert said in shown
    act(admin_client, row, "read")
    work()
    assert "New posts: 5" in page(admin_client, row)
    assert not Feed.objects.exists()
    act(admin_client, row, "run")
    work()
    row.refresh_from_db()
    assert (row.state, row.done, row.parts) == ("done", 4, 4)
    assert sorted(Subscribable.objects.values_list("name", flat=True)) == NAMES
    assert not Assignment.objects.filter(item__guid__endswith=":dec").exists()
    assert not Issue.objects.exists()
    assert admin_client.get(reverse("admin:feedletter_site_arrival_report", args=[row.pk])).status_code == 200


def test_what_was_chosen_counts(admin_client: Client, dump: Path) -> None:
    choose(admin_client, dump, zone=ZONE, stale="send", queued="keep")
    work()
    row = Arrival.objects.get()
    assert "Keep them" in unescape(page(admin_client, row))
    act(admin_client, row, "run")
    work()
    assert Assignment.objects.filter(item__guid__endswith=":dec").exists()
    assert Issue.objects.get(title="Post 5").deliveries.count() == 2


def test_its_secrets_serve_links_and_bridges_and_are_never_shown(
    admin_client: Client, services: Services, dump: Path, settings: Any
) -> None:
    settings.UPSTREAM_SALT = ""
    lines = (f"feedletter.secret.salt={SALT}", f"feedletter.masto.access.token.mothership={TOKEN}")
    mail = ("mail.smtp.host=smtp.example.org", "mail.smtp.password=hush hush")
    secrets = SimpleUploadedFile("secrets.properties", "\n".join((*lines, *mail)).encode())
    choose(admin_client, dump, zone=ZONE, secrets=secrets)
    row = Arrival.objects.get()
    assert set(row.secrets.open()) == {line.partition("=")[0] for line in (*lines, mail[0])}
    work()
    shown = page(admin_client, row)
    act(admin_client, row, "run")
    work()
    row.refresh_from_db()
    shown += page(admin_client, row)
    assert "It sent emails through smtp.example.org." in shown
    assert "stored here, encrypted" in shown
    assert (row.state, bool(row.secrets)) == ("done", False)
    (masto,) = connections_of(Subscribable.objects.get(name="river-masto"))
    assert masto.destination.secrets.open() == {"access_token": TOKEN}
    assert upstream_salts() == [(0, SALT)]
    stored = "".join(map(str, everything())) + shown
    assert not [secret for secret in (SALT, TOKEN, "hush hush") if secret in stored]


@pytest.mark.parametrize(
    ("octets", "why"), [(b"key=\\u12", "valid properties file"), (b"#" * 1_000_001, "larger than a megabyte")]
)
def test_an_unusable_secrets_file_is_refused_without_its_text(
    admin_client: Client, dump: Path, octets: bytes, why: str
) -> None:
    secrets = SimpleUploadedFile("secrets.properties", octets)
    assert why in unescape(choose(admin_client, dump, zone=ZONE, secrets=secrets).content.decode())
    assert not Arrival.objects.exists()


def test_secrets_of_a_discarded_upload_are_deleted(admin_client: Client, dump: Path) -> None:
    secrets = SimpleUploadedFile("secrets.properties", f"feedletter.secret.salt={SALT}".encode())
    choose(admin_client, dump, zone=ZONE, secrets=secrets)
    row = Arrival.objects.get()
    row.stop(now=NOW)
    row.refresh_from_db()
    assert not row.secrets
    assert upstream_salts() == []


def test_a_wrong_time_zone_is_reported(admin_client: Client, dump: Path) -> None:
    choose(admin_client, dump, zone="Pacific/Honolulu")
    work()
    row = Arrival.objects.get()
    assert (row.state, "in the future" in row.trouble) == ("unusable", True)


@pytest.mark.parametrize("step", [0, 1, 3])
def test_a_worker_that_dies_leaves_the_rest_to_the_next(admin_client: Client, dump: Path, step: int) -> None:
    choose(admin_client, dump, zone=ZONE)
    work()
    row = Arrival.objects.get()
    act(admin_client, row, "run")
    with pytest.MonkeyPatch.context() as patch:
        dies_at(patch, FeedPart, "take", step)
        with pytest.raises(Killed):
            work()
    assert Feed.objects.count() == step + 1
    Arrival.objects.update(lease_until=NOW)
    work()
    row.refresh_from_db()
    assert (row.state, row.done) == ("done", 4)
    assert sorted(Subscribable.objects.values_list("name", flat=True)) == NAMES
    assert Item.objects.filter(guid="https://blog.example.org/river/5/").count() == 2
