"""`handle_bounce` as Postfix calls it: by a pipe transport, as another user, with the recipient.

Letters through a real Postfix that accepts few connections, or refuses our letters.
"""

import json
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from delivery.engine.send_pass import send_due
from delivery.models import Delivery, Issue, Lane, LaneDomain
from subscriptions.models import Subscribable, Suppression
from tests.databases import ROOT
from tests.delivery.bounces.mails import dsn, failed
from tests.delivery.bounces.test_sources import mail
from tests.delivery.ledger import a_lane, queued, states
from tests.examples import NIGHTLY
from tests.factories import DestinationFactory, IssueFactory
from tests.load.installation import Installation, sqlite_installation
from tests.servers.postfix import Postfix, interpreter, postfix, site_packages
from tests.servers.smtp_server import SmtpServer
from tests.services import wanted

REFUSE_DOMAIN, ODD = "readers.example", "odd.example"
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


@pytest.fixture
def running(settings: Any) -> Iterator[Callable[..., Postfix]]:
    """Yield a function that runs a Postfix with such settings, and points EMAIL_URL at it."""
    folder = Path(tempfile.mkdtemp(prefix="postfix-"))
    folder.chmod(0o755)
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, folder, ignore_errors=True)

        def start(**main: str) -> Postfix:
            with wanted():
                made = postfix(
                    folder / "mail", domain=REFUSE_DOMAIN, command="true", environment={}, main=main
                )
                server = stack.enter_context(made)
            settings.EMAIL_URL = f"smtp://127.0.0.1:{server.port}"
            return server

        yield start


def an_issue(count: int, domain: str = REFUSE_DOMAIN) -> Issue:
    issue: Issue = IssueFactory()
    for number in range(count):
        to = DestinationFactory(core=f"reader{number}@{domain}", label=f"reader{number}@{domain}")
        queued(issue=issue, lane=a_lane(), domain=domain, destination=to)
    return issue


@pytest.mark.django_db(transaction=True)
def test_one_that_takes_two_connections_gets_all_at_once(running: Callable[..., Postfix]) -> None:
    server = running(smtpd_client_connection_count_limit="2", smtpd_client_event_limit_exceptions="")
    an_issue(100)
    assert send_due().sent == 100
    lane = Lane.objects.get()
    assert (lane.width, lane.failures) == (2, 0)
    assert "too many connections" in lane.server_said
    server.waits_for("status=sent (delivered via feedletter service", count=100, seconds=120)


@pytest.mark.django_db(transaction=True)
def test_one_that_refuses_the_sender_at_the_recipient_fails_nobody(running: Callable[..., Postfix]) -> None:
    running(smtpd_sender_restrictions="check_sender_access static:REJECT")
    an_issue(20)
    assert send_due().failed == 0
    assert "Sender address rejected" in Subscribable.objects.get().sending_paused_reason
    assert set(states()) <= {"queued", "deferred", "held"}
    assert not Suppression.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_one_that_takes_small_letters_only_pauses_the_issue(running: Callable[..., Postfix]) -> None:
    running(message_size_limit="1000")
    issue = an_issue(5)
    assert send_due().failed == 0
    issue.refresh_from_db()
    assert "1000" in issue.paused_reason


@pytest.mark.django_db(transaction=True)
def test_one_that_asks_another_host_first_blames_no_reader(running: Callable[..., Postfix]) -> None:
    with SmtpServer() as other:
        other.answer("rcpt", "550 5.7.1 Client host blocked using zen.spamhaus.org")
        running(
            transport_maps=f"inline:{{{REFUSE_DOMAIN}=feedletter:,{{{ODD}=smtp:[127.0.0.1]:{other.port}}}}}",
            relay_domains=f"{REFUSE_DOMAIN} {ODD}",
            smtpd_recipient_restrictions="reject_unverified_recipient",
            unverified_recipient_reject_code="550",
            address_verify_poll_delay="1s",
            address_verify_poll_count="5",
        )
        an_issue(2)
        an_issue(2, ODD)
        assert send_due().sent == 2
    assert set(Delivery.objects.filter(domain=ODD).values_list("state", flat=True)) <= {"queued", "deferred"}
    assert not Suppression.objects.exists()
    row = LaneDomain.objects.get()
    assert (row.domain, row.failures >= 1, "spamhaus" in row.last_error) == (ODD, True, True)
