"""Everything leaves with a site, and an empty site that imports it is equal."""

import io
import json
import re
import zipfile
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connection, transaction

from common import signing
from common.cli.progress import Progress
from common.refused import Refused
from common.secrets import opened
from delivery.models import Delivery, DkimKey
from feedletter_site.export import rows
from feedletter_site.export.parts import EXPORTED_PARTS, LEFT_OUT
from feedletter_site.export.site import ARRIVED, export_site, import_site
from feeds.models import Feed
from reader.models import Token
from subscriptions.lists.importer import import_subscribers
from subscriptions.models import Destination, ErasedMark, Subscribable, Subscription, Suppression
from subscriptions.privacy.erase import erase
from tests.factories import (
    NOW,
    FeedFactory,
    IssueFactory,
    SubscribableFactory,
    SubscriptionFactory,
    SuppressionFactory,
)
from tests.site.export.whole_site import whole_site

pytestmark = pytest.mark.django_db
PHRASE = "correct horse battery"


def test_every_model_is_exported_or_left_out_with_a_reason() -> None:
    exported = [part.label for part in EXPORTED_PARTS]
    left_out = [label for labels in LEFT_OUT.values() for label in labels.split()]
    models = [model for model in apps.get_models(include_auto_created=True) if not model._meta.proxy]
    assert sorted(exported + left_out) == sorted(model._meta.label for model in models)


def export(path: Path, phrase: str = "") -> dict[str, bytes]:
    export_site(path, phrase, now=NOW)
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def imported(path: Path, phrase: str = "", *, without_secrets: bool = False) -> dict[str, int]:
    return import_site(path, phrase, without_secrets=without_secrets, now=NOW)


def empty_site() -> None:
    with transaction.atomic():
        for part in EXPORTED_PARTS:
            part.model._base_manager.all()._raw_delete(connection.alias)


def test_a_site_is_equal_after_the_round_trip(tmp_path: Path) -> None:
    whole_site()
    before = export(tmp_path / "first.zip")
    token = Subscription.objects.order_by("pk").values_list("pk", "token").first()
    empty_site()
    counts = imported(tmp_path / "first.zip")
    assert all(counts.values())
    assert Subscription.objects.order_by("pk").values_list("pk", "token").first() == token
    after = export(tmp_path / "second.zip")
    assert after == before
    assert b"kept secret" not in b"".join(before.values())


def test_newsletters_arrive_paused_and_rows_can_be_added(tmp_path: Path) -> None:
    whole_site()
    export(tmp_path / "site.zip")
    empty_site()
    imported(tmp_path / "site.zip")
    assert set(Subscribable.objects.values_list("sending_paused_at", "sending_paused_reason")) == {
        (NOW, ARRIVED)
    }
    assert not User.objects.get().has_usable_password()
    newest = Feed.objects.latest("pk").pk
    assert FeedFactory().pk > newest


def test_secrets_come_with_the_pass_phrase_only(tmp_path: Path, settings: Any) -> None:
    whole_site()
    password = User.objects.get().password
    before = export(tmp_path / "site.zip", PHRASE)
    assert b"kept secret" not in b"".join(before.values())
    empty_site()
    with pytest.raises(Refused, match="--passphrase-file"):
        imported(tmp_path / "site.zip")
    with pytest.raises(Refused, match="pass phrase"):
        imported(tmp_path / "site.zip", "another phrase")
    settings.SECRET_KEY = "the key of another site " * 4
    imported(tmp_path / "site.zip", PHRASE)
    assert opened(Destination.objects.get(kind="mastodon").secrets) == {"access_token": "kept secret"}
    assert opened(DkimKey.objects.get().private) == {"token": "kept secret"}
    assert User.objects.get().password == password
    assert Token.objects.count() == 1
    empty_site()
    imported(tmp_path / "site.zip", without_secrets=True)
    assert not Destination.objects.get(kind="mastodon").secrets
    assert not DkimKey.objects.exists()


@pytest.mark.parametrize("is_first_release", [False, True])
def test_an_erased_person_stays_erased_under_another_secret_key(
    is_first_release: bool, tmp_path: Path, settings: Any
) -> None:
    if is_first_release:
        ErasedMark.objects.create(digest=signing.stamp("erased", "email gone@example.org"))
    else:
        gone = SubscriptionFactory(destination__core="gone@example.org")
        erase(destination=gone.destination, now=NOW)
    export(tmp_path / "site.zip", PHRASE)
    empty_site()
    settings.SECRET_KEY = "the key of another site " * 4
    imported(tmp_path / "site.zip", PHRASE)
    lines = ["email,status\n", "gone@example.org,confirmed\n"]
    report = import_subscribers(subscribable=SubscribableFactory(), lines=lines, now=NOW)
    assert report.outcomes["erased"] == 1


def test_a_site_that_has_something_is_refused(tmp_path: Path) -> None:
    whole_site()
    export(tmp_path / "site.zip")
    empty_site()
    SuppressionFactory()
    with pytest.raises(Refused, match="This site has rows already"):
        imported(tmp_path / "site.zip")
    assert not Feed.objects.exists()
    assert Suppression.objects.count() == 1


def test_files_for_people(tmp_path: Path) -> None:
    whole_site()
    files = export(tmp_path / "site.zip")
    people = {name.rsplit("/", 1)[0] for name in files if name.startswith("people/")}
    assert people == {
        "people",
        "people/readers",
        "people/subscribers",
        "people/do-not-email",
        "people/issues",
    }
    assert b"<opml" in files["people/feeds.opml"]
    page = next(text for name, text in files.items() if name.endswith(".html"))
    assert b"The text of post" in page


def test_older_issues_share_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    newsletter = SubscribableFactory(name="news")
    for number in range(6):
        IssueFactory(
            subscribable=newsletter, within_type_id=str(number), title=f"Issue {number}", published_at=NOW
        )
    monkeypatch.setattr(rows, "MOST_PAGES", 1)
    monkeypatch.setattr(rows, "OLDER_TOGETHER", 3)
    monkeypatch.setattr(rows, "PEOPLE_A_QUERY", 2)
    progress = Progress("", io.StringIO())
    path = tmp_path / "site.zip"
    export_site(path, "", now=NOW, progress=progress)
    with zipfile.ZipFile(path) as archive:
        pages = {name: archive.read(name).decode() for name in archive.namelist() if "people/issues" in name}
    titles = [re.findall(r"<h1>Issue (\d)</h1>", text) for text in pages.values()]
    assert titles == [["5"], ["4", "3", "2"], ["1", "0"]]
    assert [name.rpartition("/")[2] for name in pages][1:] == ["older-00001.html", "older-00002.html"]
    assert {(text.count("<html"), text.count("</html>")) for text in pages.values()} == {(1, 1)}
    assert progress.done == progress.total


def test_rows_name_others_by_their_natural_keys(tmp_path: Path) -> None:
    whole_site()
    files = export(tmp_path / "site.zip")
    first: Any = Delivery.objects.select_related("issue__subscribable", "destination").earliest("pk")
    row = json.loads(files["data/delivery.Delivery.jsonl"].splitlines()[0])
    assert row["issue"] == [first.issue.subscribable.name, first.issue.within_type_id]
    assert row["destination"] == [first.destination.kind, first.destination.core]
    assert (row["id"], row["state"]) == (first.pk, "sent")


def test_the_command_says_what_is_left_out(tmp_path: Path) -> None:
    whole_site()
    out = io.StringIO()
    call_command("export_site", str(tmp_path / "site.zip"), stdout=out, stderr=io.StringIO())
    assert "feeds.Feed.credentials (1)" in out.getvalue()
    assert (tmp_path / "site.zip").stat().st_mode & 0o077 == 0
