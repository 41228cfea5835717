"""The documented move from SQLite to PostgreSQL keeps every row, and letters go out afterwards."""

import base64
import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from channels.email.dkim.keys import DkimRecord
from tests.channels.dkim.verifying import verified
from tests.databases import ROOT
from tests.load.installation import Installation, postgres_installation, sqlite_installation
from tests.servers.documents import rss
from tests.servers.feed_server import FeedServer, Reply, Request
from tests.servers.smtp_server import SmtpServer

SECRET = "for-tests-only-" * 4
READERS = 50
OLD = {"guid": "old", "title": "Before", "link": "https://blog.example.org/old", "content": "Long ago."}
NEW = {"guid": "new", "title": "First light", "link": "https://blog.example.org/new", "content": "Hello."}

# Rows of every table of the first release, and of later ones that hold secrets, binary data and odd JSON.
FILL = """
from tests.e2e.rows import load; load()
from datetime import timedelta
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Group, Permission, User
from django.contrib.contenttypes.models import ContentType
from django_celery_beat.models import CrontabSchedule, PeriodicTask
from chat.models import Interaction
from common.clock import utcnow
from feeds.models import Feed, FeedDocument
from reader.models import Reader
from subscriptions.models import Destination
Feed.objects.update(status="paused")
FeedDocument.objects.update(body=bytes(range(256)))
# A user who came before others that are gone: the number is not the first free one.
ada = User(pk=41, username="ada", email="ada@example.org", date_joined=utcnow() + timedelta(microseconds=7))
ada.set_password("a password of ada")
ada.save()
editors = Group.objects.create(name="Editors")
editors.permissions.set(Permission.objects.filter(codename__endswith="_feed"))
ada.groups.add(editors)
LogEntry.objects.create(user=ada, content_type=ContentType.objects.get_for_model(Feed), object_id="1",
                        object_repr="a feed", action_flag=2, change_message="[]")
Reader.objects.create(user=ada, slug="ada", micropub={"token": "t0ken"},
                      endpoints={"z": [1.5, None], "a": "\\u2028"})
Interaction.objects.create(id=2**60, guild_id=1, user_id=2, act="add", secrets={"token": "chat"}, answer={})
Destination.objects.create(kind="mastodon", core="x@instance.example", label="x",
                           secrets={"access_token": "m"})
PeriodicTask.objects.filter(name="feeds.poll").update(enabled=False)
PeriodicTask.objects.filter(name="delivery.send").delete()
PeriodicTask.objects.create(name="delivery.send", task="delivery.send",
                            crontab=CrontabSchedule.objects.create(minute="*/2"))
"""
# Every row of every table except the ones filled by migrations; secrets both decrypted and as stored.
ROWS = """
import json
from django.apps import apps
from common.secrets import Sealed
# (PeriodicTasks says when the schedule was changed last, which the move does.)
LEFT_OUT = {"contenttypes.ContentType", "auth.Permission", "sessions.Session",
            "django_celery_beat.PeriodicTasks"}
# Their numbers are those of the database.
BY_NAME = {"content_type", "permission"}
def plain(row, field):
    if field.name in BY_NAME:
        return getattr(row, field.name).natural_key()
    value = field.value_from_object(row)
    if isinstance(value, Sealed):
        return value.token, value.open()
    return bytes(value).hex() if isinstance(value, memoryview | bytes) else value
tables = {}
for model in apps.get_models(include_auto_created=True):
    if model._meta.proxy or model._meta.label in LEFT_OUT:
        continue
    # Rows of a many-to-many table have no identity but what they join.
    own = model._meta.auto_created and [model._meta.pk]
    fields = [field for field in model._meta.concrete_fields if field not in (own or [])]
    rows = [{field.name: plain(row, field) for field in fields} for row in model._base_manager.all()]
    tables[model._meta.label] = sorted(json.dumps(row, default=str, sort_keys=True) for row in rows)
print(json.dumps(tables))
"""


@pytest.fixture
def blog() -> Iterator[FeedServer]:
    """Serve a feed that only ada may read."""
    server = FeedServer()
    login = "Basic " + base64.b64encode(b"ada:pass word").decode()

    def reply(request: Request) -> Reply:
        if request.headers.get("authorization") != login:
            return Reply(b"", 401)
        return Reply(rss(server.posts, title="Starlight"))  # type: ignore[attr-defined]

    server.posts = [OLD]  # type: ignore[attr-defined]
    server.answer("/feed.xml", reply)
    with server:
        yield server


def set_up(site: Installation, blog: FeedServer, mail: SmtpServer, folder: Path) -> None:
    """Create everything that has a secret, by the commands that people use."""
    (folder / "url").write_text(mail.url)
    (folder / "password").write_text("pass word")
    lines = ["email,status", *(f"reader{number}@example.org,confirmed" for number in range(READERS))]
    (folder / "list.csv").write_text("\n".join(lines))
    site.script(FILL)
    site.manage(
        *("add_account", "main", "--url-file", str(folder / "url"), "--default"),
        *("--from", "Starlight <letters@sender.example>"),
    )
    site.manage("dkim_key", "sender.example", "--selector", "one")
    site.manage("dkim_key", "sender.example", "--selector", "one", "--activate")
    feed = json.loads(
        site.manage(
            *("add_feed", blog.url("/feed.xml"), "--ping", "--json"),
            *("--user", "ada", "--password-file", str(folder / "password")),
        )
    )
    site.manage("define_subscribable", "starlight", "--feed", str(feed["id"]), "--sign-up", "open")
    site.manage("import_subscribers", "starlight", str(folder / "list.csv"))


def documented_move() -> list[str]:
    """Return the commands of docs/operating/scale.md."""
    text = (ROOT / "docs/operating/scale.md").read_text(encoding="utf-8")
    after = text.partition("## From embedded to distributed")[2]
    return [line for line in after.splitlines() if re.match(r"(DATABASE_URL=\S+ )?manage\.py ", line)]


def move(source: Installation, target: Installation, folder: Path) -> None:
    """Run the documented commands, each in the installation that it names."""
    for line in documented_move():
        words = [word.replace("all.jsonl", str(folder / "all.jsonl")) for word in shlex.split(line)]
        site = target if words[0].startswith("DATABASE_URL=") else source
        site.manage(*words[words.index("manage.py") + 1 :], timeout=300)


def records(site: Installation) -> list[DkimRecord]:
    """Return the DNS records of the domain's DKIM keys."""
    text = site.script(
        "import json\nfrom delivery.models import DkimKey\n"
        "print(json.dumps([[row.record.name, row.record.value] for row in DkimKey.objects.all()]))"
    )
    return [DkimRecord(name, value) for name, value in json.loads(text)]


@pytest.mark.slow
@pytest.mark.postgres
@pytest.mark.parametrize("way", ["direct", pytest.param("pooler", marks=pytest.mark.later)])
def test_the_move_to_postgresql_keeps_every_row_and_letters_go_out_afterwards(
    way: str, tmp_path: Path, request: pytest.FixtureRequest, blog: Any
) -> None:
    server = request.getfixturevalue("postgres_url")
    source_folder = tmp_path / "from"
    source_folder.mkdir()
    with (
        SmtpServer(login=("letters", "pass+word")) as mail,
        sqlite_installation(source_folder, SECRET_KEY=SECRET) as source,
        postgres_installation(tmp_path, server, migrated=False, SECRET_KEY=SECRET) as target,
    ):
        if way == "pooler":
            pooler = request.getfixturevalue("pooler_url")
            name = target.environment["DATABASE_URL"].rpartition("/")[2]
            target.environment["DATABASE_URL"] = f"{pooler.rpartition('/')[0]}/{name}?prepare=off"
        set_up(source, blog, mail, tmp_path)
        before = json.loads(source.script(ROWS))
        move(source, target, tmp_path)
        after = json.loads(target.script(ROWS))
        for table in before:
            assert before[table] == after[table], table
        dump = (tmp_path / "all.jsonl").read_text(encoding="utf-8")
        for secret in ("pass word", "pass+word", "t0ken", "PRIVATE KEY", "Sealed"):
            assert secret not in dump

        blog.posts.insert(0, NEW)
        target.script("from feeds.models import Feed; Feed.objects.update(next_poll_at='2020-01-01T00:00Z')")
        target.manage("run_once")
        letters = [each for each in mail.messages if "First light" in each.subject]
        assert sorted(each.recipient for each in letters) == sorted(
            f"reader{number}@example.org" for number in range(READERS)
        )
        assert all(any(verified(each.data, records(target))) for each in letters[:3])
        # New rows get numbers after the copied ones.
        target.manage("subscribe", "starlight", "--email", "late@example.org")
