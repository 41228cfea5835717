"""This release and the next one run together, and each email is sent once."""

import re
import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from django.conf import settings

from feedletter_site.checks import numbers
from feedletter_site.management.commands.up import plan
from tests.e2e.journey import Blog
from tests.e2e.processes import until
from tests.examples import NIGHTLY
from tests.load.installation import Installation, postgres_installation, sqlite_installation
from tests.servers.smtp_server import SmtpServer
from tests.test_architecture import PACKAGES, ROOT

pytestmark = [NIGHTLY, pytest.mark.postgres]
READERS = 300
SLOW, FAST = "4", "500"
SUBJECT = "Post {}"
TREE = (*PACKAGES, "templates", "locale", "tests", "manage.py")
# The next release: a column, a table and an index, as a model and as migrations.
MODEL = """

Delivery.add_to_class("later_note", models.TextField(null=True, db_default=""))
Delivery._meta.indexes.append(models.Index(fields=["domain", "state"], name="later_domain"))


class Later(models.Model):
    id = models.BigAutoField(primary_key=True)
"""
MIGRATIONS = {
    "9998_later": """
    operations = [
        migrations.AddField("delivery", "later_note", models.TextField(null=True, db_default="")),
        migrations.CreateModel("Later", [("id", models.BigAutoField(primary_key=True, serialize=False))]),
    ]
""",
    "9999_index": """
    atomic = False
    operations = [
        AddIndexBeside("delivery", models.Index(fields=["domain", "state"], name="later_domain")),
    ]
""",
}
MIGRATION = """from django.db import migrations, models

from common.postgresql.base import AddIndexBeside


class Migration(migrations.Migration):
    dependencies = [("delivery", "{before}")]
{body}"""
PING = """
from common.clock import utcnow
from feeds.polling.poll import request_poll
assert request_poll(feed_ids=[1], now=utcnow()) == 1
"""
READY = "from feedletter_site.monitoring.stages import what_is_missing; print(what_is_missing())"
NOTES = "from delivery.models import Delivery; print(Delivery.objects.exclude(later_note='').count())"


def next_release(tree: Path) -> Path:
    """Copy the program, with changes that a release may make."""
    for name in TREE:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, tree / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, tree / name)
    file = tree / "feedletter_site" / "settings.py"
    file.write_text(re.sub(r'(?m)^VERSION = ".*"$', 'VERSION = "99.0.0"', file.read_text()))
    with (tree / "delivery" / "models" / "delivery.py").open("a") as module:
        module.write(MODEL)
    folder = tree / "delivery" / "migrations"
    oldest = "_".join(map(str, numbers(settings.VERSION)))
    for name, body in MIGRATIONS.items():
        before = max(path.stem for path in folder.glob("[0-9]*.py"))
        text = MIGRATION.format(before=before, body=body)
        (folder / f"{name}_beside_{oldest}.py").write_text(text)
    return tree


@dataclass
class Upgrade:
    """Both releases on one database."""

    old: Installation
    new: Installation
    smtp: SmtpServer
    blog: Blog
    posts: int = 0

    def fill(self) -> None:
        """Make data with the old release's commands."""
        lines = [f"reader{number}@example.org,confirmed" for number in range(READERS)]
        lines += ["gone@example.org,unsubscribed"]
        file = self.old.folder / "readers.csv"
        file.write_text("\n".join(["email,status", *lines]))
        self.old.manage("add_feed", self.blog.feed, "--ping")
        self.old.manage("define_subscribable", "starlight", "--feed", "1")
        self.old.manage("import_subscribers", "starlight", str(file))
        self.old.manage("alter_lane", "default", "--rate", SLOW)

    def publish(self, by: Installation) -> None:
        """Publish the blog's next post; `by` makes the feed due."""
        self.posts += 1
        title, link = SUBJECT.format(self.posts), f"https://blog.example.org/{self.posts}"
        self.blog.publish({"guid": link, "title": title, "link": link, "content": f"<p>{title}</p>"})
        by.script(PING)

    def all_sent(self) -> None:
        self.sent(self.posts * READERS)

    def sent(self, count: int) -> None:
        try:
            until(lambda: len(self.smtp.recipients) >= count, f"{count} emails")
        except AssertionError as error:
            error.add_note(f"{len(self.smtp.recipients)} were sent.\n{self.old.log()}")
            raise

    def is_good(self) -> None:
        for release in (self.old, self.new):
            release.manage("check")
            assert release.script(READY).strip() == ""


@pytest.fixture(params=["sqlite", "postgresql"])
def upgrade(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Upgrade]:
    with ExitStack() as stack:
        smtp = stack.enter_context(SmtpServer())
        blog = stack.enter_context(Blog())
        if request.param == "sqlite":
            old = stack.enter_context(sqlite_installation(tmp_path, EMAIL_URL=smtp.url))
        else:
            url, redis = request.getfixturevalue("postgres_url"), request.getfixturevalue("redis_url")
            made = postgres_installation(tmp_path, url, EMAIL_URL=smtp.url, CELERY_BROKER_URL=redis)
            old = stack.enter_context(made)
        new = Installation(tmp_path, old.environment["DATABASE_URL"])
        new.root, new.environment = next_release(tmp_path / "next"), old.environment
        stack.callback(new.stop_all)
        yield Upgrade(old, new, smtp, blog)


def start(site: Installation) -> None:
    """Start a worker for all stages, and beat where the worker isn't beat, too."""
    site.start(*plan("127.0.0.1:8000", processes=2).commands["worker"][1:])
    if "CELERY_BROKER_URL" in site.environment:
        site.start("-m", "celery", "--quiet", "-A", "feedletter_site", "beat", "--pidfile", "")


def stop(site: Installation) -> None:
    for process in list(site.workers):
        site.stop(process)


def test_each_email_is_sent_once_while_releases_change(upgrade: Upgrade) -> None:
    old, new = upgrade.old, upgrade.new
    new.manage("makemigrations", "--check", "--dry-run")
    new.python("-m", "tests.upgrade.safety").check_returncode()
    upgrade.fill()

    start(old)
    upgrade.publish(by=old)
    upgrade.sent(20)
    new.manage("migrate", "-v", "0")
    assert len(upgrade.smtp.recipients) < READERS, "the migration must happen while emails are sent"
    old.manage("alter_lane", "default", "--rate", FAST)
    upgrade.all_sent()

    # The old release alone, on the new tables.
    upgrade.is_good()
    upgrade.publish(by=old)
    upgrade.all_sent()

    start(new)
    for release in (old, new):
        upgrade.publish(by=release)
    upgrade.all_sent()

    stop(old)
    upgrade.publish(by=new)
    upgrade.all_sent()

    # And back.
    stop(new)
    old.manage("migrate", "-v", "0")
    start(old)
    upgrade.publish(by=old)
    upgrade.all_sent()

    with suppress(TimeoutError):
        upgrade.smtp.wait_for(upgrade.posts * READERS + 1, 3)
    letters = Counter((letter.recipient, letter.subject) for letter in upgrade.smtp.messages)
    readers = [f"reader{number}@example.org" for number in range(READERS)]
    titles = [SUBJECT.format(number + 1) for number in range(upgrade.posts)]
    assert letters == Counter((reader, title) for reader in readers for title in titles)
    assert new.script(NOTES).strip() == "0"
    upgrade.is_good()
    assert "Traceback" not in old.log()
