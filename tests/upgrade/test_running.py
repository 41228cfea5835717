"""An allowed migration runs unnoticed while workers of the previous release send."""

import time
from collections import Counter
from pathlib import Path

import pytest

from tests.load.installation import Installation, postgres_installation
from tests.servers.smtp_server import SmtpServer

pytestmark = [pytest.mark.slow, pytest.mark.postgres]

READERS = 2000
RATE = 40
SECONDS = 120

SETUP = f"""
from delivery.models import Lane
from subscriptions.models import Destination, Subscribable, Subscription
letter = Subscribable.objects.create(name="upgraded", title="Upgraded", from_email="a@sender.example")
made = Destination.objects.bulk_create(
    Destination(kind="email", core=f"reader{{n}}@example.org", label=f"reader{{n}}@example.org",
                config={{"address": f"reader{{n}}@example.org"}}) for n in range({READERS}))
Subscription.objects.bulk_create(
    Subscription(subscribable=letter, destination=row, status="confirmed") for row in made)
Lane.objects.create(kind="email", account="default", concurrency=10, rate={RATE}, burst=20)
"""
PUBLISH = """
from django.utils import timezone
from delivery.models import Issue
from delivery.issues.publish import publish
from subscriptions.models import Subscribable
issue = Issue.objects.create(subscribable=Subscribable.objects.get(), within_type_id="{number}",
                             token="{number}" * 24, title="T", subject="Issue {number}", html="<p>Hello</p>",
                             text="Hello")
print(publish(issue_id=issue.pk, now=timezone.now()))
"""
# As in a future release; run as `migrate` does, and checked like every migration.
UPGRADE = """
from django.db import connection, models
from django.db.migrations import AddField, CreateModel, Migration
from django.db.migrations.executor import MigrationExecutor
from common.postgresql.operations import AddIndexBeside
from tests.upgrade.safety import unsafe

later = type("Later", (Migration,), {"operations": [
    AddField("delivery", "later_note", models.TextField(null=True)),
    AddField("delivery", "later_size", models.IntegerField(db_default=0)),
    AddField("attempt", "later_size", models.IntegerField(db_default=0)),
    CreateModel("Later", [("id", models.BigAutoField(primary_key=True))]),
]})("9998_later", "delivery")
index = type("Index", (Migration,), {"atomic": False, "operations": [
    AddIndexBeside("delivery", models.Index(fields=["domain", "state"], name="later_domain")),
]})("9999_index", "delivery")

state = MigrationExecutor(connection).loader.project_state()
for migration in (later, index):
    assert unsafe(migration, state) == []
    with connection.schema_editor(atomic=migration.atomic) as editor:
        state = migration.apply(state, editor)
with connection.cursor() as cursor:
    cursor.execute("SELECT count(*) FROM pg_indexes WHERE indexname = 'later_domain'")
    print(cursor.fetchone()[0])
"""


@pytest.mark.nightly
def test_workers_send_on_while_a_migration_runs(postgres_url: str, tmp_path: Path) -> None:
    with SmtpServer() as smtp, postgres_installation(tmp_path, postgres_url, EMAIL_URL=smtp.url) as site:
        site.script(SETUP)
        assert site.script(PUBLISH.format(number=1)).strip() == str(READERS)
        for _ in range(2):
            site.start_worker("send,reap")
        until_sent(50, smtp, site)
        assert site.script(UPGRADE).strip() == "1"
        assert len(smtp.recipients) < READERS, "the migration must fall into the run"
        # The previous release still makes issues, too: its INSERT names the columns that it knows.
        assert site.script(PUBLISH.format(number=2)).strip() == str(READERS)
        site.script("from delivery.models import Lane; Lane.objects.update(rate=None)")
        until_sent(2 * READERS, smtp, site)
        time.sleep(1)
        assert set(Counter(smtp.recipients).values()) == {2}
        assert len(smtp.recipients) == 2 * READERS
        assert "Traceback" not in site.log()


def until_sent(count: int, smtp: SmtpServer, site: Installation) -> None:
    end = time.monotonic() + SECONDS
    while len(smtp.recipients) < count:
        assert time.monotonic() < end, f"{len(smtp.recipients)} of {count}: {site.log()}"
        time.sleep(0.2)
