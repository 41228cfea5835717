"""Letters through a real Postfix that accepts few connections, or refuses our letters."""

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
from tests.delivery.ledger import a_lane, queued, states
from tests.factories import DestinationFactory, IssueFactory
from tests.servers.postfix import Postfix, postfix
from tests.servers.smtp_server import SmtpServer
from tests.services import wanted

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]
DOMAIN, ODD = "readers.example", "odd.example"


@pytest.fixture
def running(settings: Any) -> Iterator[Callable[..., Postfix]]:
    """Yield a function that runs a Postfix with such settings, and points EMAIL_URL at it."""
    folder = Path(tempfile.mkdtemp(prefix="postfix-"))
    folder.chmod(0o755)
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, folder, ignore_errors=True)

        def start(**main: str) -> Postfix:
            with wanted():
                made = postfix(folder / "mail", domain=DOMAIN, command="true", environment={}, main=main)
                server = stack.enter_context(made)
            settings.EMAIL_URL = f"smtp://127.0.0.1:{server.port}"
            return server

        yield start


def an_issue(count: int, domain: str = DOMAIN) -> Issue:
    issue: Issue = IssueFactory()
    for number in range(count):
        to = DestinationFactory(core=f"reader{number}@{domain}", label=f"reader{number}@{domain}")
        queued(issue=issue, lane=a_lane(), domain=domain, destination=to)
    return issue


def test_one_that_takes_two_connections_gets_all_at_once(running: Callable[..., Postfix]) -> None:
    server = running(smtpd_client_connection_count_limit="2", smtpd_client_event_limit_exceptions="")
    an_issue(100)
    assert send_due().sent == 100
    lane = Lane.objects.get()
    assert (lane.width, lane.failures) == (2, 0)
    assert "too many connections" in lane.server_said
    server.waits_for("status=sent (delivered via feedletter service", count=100, seconds=120)


def test_one_that_refuses_the_sender_at_the_recipient_fails_nobody(running: Callable[..., Postfix]) -> None:
    running(smtpd_sender_restrictions="check_sender_access static:REJECT")
    an_issue(20)
    assert send_due().failed == 0
    assert "Sender address rejected" in Subscribable.objects.get().sending_paused_reason
    assert set(states()) <= {"queued", "deferred", "held"}
    assert not Suppression.objects.exists()


def test_one_that_takes_small_letters_only_pauses_the_issue(running: Callable[..., Postfix]) -> None:
    running(message_size_limit="1000")
    issue = an_issue(5)
    assert send_due().failed == 0
    issue.refresh_from_db()
    assert "1000" in issue.paused_reason


def test_one_that_asks_another_host_first_blames_no_reader(running: Callable[..., Postfix]) -> None:
    with SmtpServer() as other:
        other.answer("rcpt", "550 5.7.1 Client host blocked using zen.spamhaus.org")
        running(
            transport_maps=f"inline:{{{DOMAIN}=feedletter:,{{{ODD}=smtp:[127.0.0.1]:{other.port}}}}}",
            relay_domains=f"{DOMAIN} {ODD}",
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
