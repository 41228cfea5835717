"""A RabbitMQ that refuses the login: letters go out all the same, and by ticks once it is mended."""

import secrets
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.examples import NIGHTLY
from tests.load.installation import sqlite_installation
from tests.servers.smtp_server import SmtpServer
from tests.services import program

pytestmark = [pytest.mark.slow, NIGHTLY]

READERS = 50
PUBLISH = """
from common.clock import utcnow
from delivery.issues.publish import publish
from delivery.models import Issue, IssueItem
from feeds.parsing.entry import Entry
from subscriptions.models import Destination, Subscribable, Subscription
letter, _ = Subscribable.objects.get_or_create(name="bees", defaults=dict(title="Bees"))
for number in range({readers}):
    address = f"reader{{number}}@example.org"
    to, _ = Destination.objects.get_or_create(kind="email", core=address,
                                              defaults=dict(label=address, config={{"email": address}}))
    Subscription.objects.get_or_create(subscribable=letter, destination=to, defaults=dict(status="confirmed"))
issue = Issue.objects.create(subscribable=letter, within_type_id="{subject}", token="t" * 24,
                             title="Bees", subject="{subject}", html="<p>Bees</p>", text="Bees")
IssueItem.objects.create(issue=issue, position=0,
                         entry=Entry(guid="1", title="On bees", link="https://blog.example/1").to_json())
publish(issue_id=issue.pk, now=utcnow())
"""


def rabbitmqctl(*arguments: str) -> None:
    command = [str(program("rabbitmqctl")), "-q", *arguments]
    subprocess.run(command, check=True, capture_output=True, timeout=60)


@pytest.fixture
def account() -> Iterator[str]:
    """Create a user and virtual host at the running RabbitMQ; the password is "right". Yield the name."""
    name = f"feedletter-test-{secrets.token_hex(4)}"
    if not program("rabbitmqctl"):
        pytest.skip("RabbitMQ is not installed")
    try:
        rabbitmqctl("add_user", name, "right")
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
        pytest.skip("RabbitMQ does not run here, or its administration is not ours")
    try:
        rabbitmqctl("add_vhost", name)
        rabbitmqctl("set_permissions", "-p", name, name, ".*", ".*", ".*")
        yield name
    finally:
        rabbitmqctl("delete_vhost", name)
        rabbitmqctl("delete_user", name)


def test_letters_go_out_while_the_login_is_refused_and_ticks_come_when_it_is_mended(
    account: str, tmp_path: Path
) -> None:
    environment: dict[str, Any] = {
        "LOG_FORMAT": "console",
        "CELERY_BROKER_URL": f"amqp://{account}:left@127.0.0.1/{account}",
    }
    with SmtpServer() as mail, sqlite_installation(tmp_path, EMAIL_URL=mail.url, **environment) as site:
        site.start_worker("send,reap")
        site.start(*["-m", "celery", "-A", "feedletter_site", "beat", "-l", "warning", "--pidfile"], "")
        site.script(PUBLISH.format(readers=READERS, subject="first"))
        mail.wait_for(READERS, 90)
        log = site.log()
        assert "Cannot connect to" in log
        assert "The broker accepts no tick" in log
        assert "Traceback" not in log

        rabbitmqctl("change_password", account, "left")
        time.sleep(5)
        began = time.monotonic()
        site.script(PUBLISH.format(readers=READERS, subject="second"))
        mail.wait_for(2 * READERS, 90)
        # A worker without ticks waits twenty seconds before it makes its own.
        assert time.monotonic() - began < 18
        for subject in ("first", "second"):
            letters = [each.recipient for each in mail.messages if each.subject == subject]
            assert len(letters) == len(set(letters)) == READERS
