"""`handle_bounce` as Postfix calls it: by a pipe transport, as another user, with the recipient."""

import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.databases import ROOT
from tests.delivery.bounces.mails import dsn, failed
from tests.delivery.bounces.test_unsubscribe_mail import mail
from tests.examples import NIGHTLY
from tests.load.installation import Installation, sqlite_installation
from tests.servers.postfix import Postfix, interpreter, postfix, site_packages
from tests.services import wanted

pytestmark = pytest.mark.slow
DOMAIN = "bounces.example"
ROWS = """
import json
from channels.email.headers import return_path
from delivery.models import Delivery, Lane
from subscriptions.links import unsubscribe_url
from subscriptions.models import Destination, Subscribable, Subscription
newsletter = Subscribable.objects.create(name="weekly", channel="email")
reader = Destination.objects.create(kind="email", core="ada@example.org", label="ada@example.org")
leaver = Subscription.objects.create(subscribable=newsletter, destination=reader, status="confirmed")
lane = Lane.objects.create(kind="email", account="default")
row = Delivery.objects.create(
    kind="welcome", key="1", destination=reader, subscription=leaver, lane=lane, state="sent"
)
token = unsubscribe_url(leaver).rstrip("/").rpartition("/")[2]
print(json.dumps({"return_path": return_path(row.pk), "token": token}))
"""
READ = """
import json
from delivery.models import Bounce
from subscriptions.models import Subscription, Suppression
print(json.dumps({
    "bounces": list(Bounce.objects.values_list("kind", "recipient")),
    "suppressed": list(Suppression.objects.values_list("core", flat=True)),
    "status": Subscription.objects.get().status,
}))
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    """Make a folder that Postfix's users can read; pytest's own folders are closed to them."""
    made = Path(tempfile.mkdtemp(prefix="postfix-"))
    made.chmod(0o755)
    yield made
    shutil.rmtree(made, ignore_errors=True)


@pytest.fixture
def site(folder: Path) -> Iterator[Installation]:
    data = folder / "site"
    data.mkdir()
    with sqlite_installation(data, BOUNCE_DOMAIN=DOMAIN, LOG_FORMAT="console") as made:
        yield made


@pytest.fixture
def server(folder: Path, site: Installation) -> Iterator[Postfix]:
    with ExitStack() as stack:
        with wanted():
            command = f"cd {ROOT} && {interpreter()} manage.py handle_bounce --recipient"
            environment = {**site.environment, "PYTHONPATH": site_packages(), "PYTHONDONTWRITEBYTECODE": "1"}
            arguments: dict[str, Any] = {"domain": DOMAIN, "command": command, "environment": environment}
            running = stack.enter_context(postfix(folder / "mail", **arguments))
        yield running


def opened(site: Installation) -> None:
    """Make the files that the pipe's user writes to writable."""
    site.folder.chmod(0o777)
    for path in site.folder.iterdir():
        path.chmod(0o666)


def rows(site: Installation, text: str) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(site.script(text))
    opened(site)
    return answer


def test_a_mail_by_smtp_ends_in_the_ledger(site: Installation, server: Postfix) -> None:
    made = rows(site, ROWS)
    server.deliver(dsn(failed("ada@example.org"), to="letters@sender.example"), made["return_path"])
    server.waits_for("status=sent (delivered via feedletter service")
    assert rows(site, READ) == {
        "bounces": [["hard", "ada@example.org"]],
        "suppressed": ["ada@example.org"],
        "status": "confirmed",
    }
    server.deliver(mail(made["token"].upper(), f"leave@{DOMAIN}"), f"leave@{DOMAIN}", "ada@example.org")
    server.waits_for("status=sent (delivered via feedletter service", count=2)
    assert rows(site, READ)["status"] == "unsubscribed"


@NIGHTLY
def test_a_mail_waits_in_the_queue_while_the_database_is_away(site: Installation, server: Postfix) -> None:
    made = rows(site, ROWS)
    away = site.folder.with_name("away")
    site.folder.rename(away)
    server.deliver(dsn(failed("ada@example.org")), made["return_path"])
    server.waits_for("status=deferred (temporary failure")
    away.rename(site.folder)
    server.waits_for("status=sent (delivered via feedletter service", seconds=60)
    assert rows(site, READ)["bounces"] == [["hard", "ada@example.org"]]
