"""A worker is killed while Twilio takes its message: looked up, it is sent once."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.load.installation import Installation, sqlite_installation
from tests.servers.killers import Killer
from tests.servers.services.twilio import VALUES, Twilio

pytestmark = pytest.mark.slow

SETUP = f"""
from common.clock import utcnow
from delivery.issues.publish import publish
from delivery.models import Issue, IssueItem, ServiceAccount
from feeds.parsing.entry import Entry
from subscriptions.models import Destination, Subscribable, Subscription
account = ServiceAccount(kind="sms", name="bees")
account.secrets = {VALUES!r}
account.save()
letter = Subscribable.objects.create(name="bees", title="Bees", channel="sms", options={{"account": "bees"}})
to = Destination.objects.create(kind="sms", core="+4915123456789", label="+49 1512 3456789")
Subscription.objects.create(subscribable=letter, destination=to, status="confirmed")
issue = Issue.objects.create(subscribable=letter, within_type_id="1", token="t" * 24, title="Bees",
                             subject="Bees", html="<p>Bees</p>", text="Bees")
entry = Entry(guid="1", title="On bees", link="https://blog.example/1")
IssueItem.objects.create(issue=issue, position=0, entry=entry.to_json())
publish(issue_id=issue.pk, now=utcnow())
"""
SEND = """
import os
from datetime import timedelta
from common.clock import utcnow
from delivery.channels.sms import session
from delivery.engine.send_pass import send_due
session.TWILIO_API = {url!r}
open({mark!r}, "w").write(str(os.getpid()))
send_due(clock=lambda: utcnow() + timedelta(minutes={minutes}))
from delivery.models import Delivery
print(*Delivery.objects.values_list("state", "remote_id"))
"""


class KillingTwilio(Killer, Twilio):
    pass


@pytest.fixture
def installation(tmp_path: Path) -> Iterator[Installation]:
    with sqlite_installation(tmp_path) as made:
        made.script(SETUP)
        yield made


@pytest.mark.parametrize("before", [True, False], ids=["before it was taken", "after it was taken"])
def test_a_kill_between_post_and_record_makes_one_message(
    installation: Installation, tmp_path: Path, before: bool
) -> None:
    mark = tmp_path / "pid"
    with KillingTwilio() as twilio:
        twilio.before, twilio.mark = before, mark

        def send(minutes: int) -> str:
            text = SEND.format(url=twilio.url, mark=str(mark), minutes=minutes)
            setup = "import django; django.setup()\n"
            return installation.python("-c", setup + text).stdout

        assert send(0) == ""  # killed before it could print
        assert len(twilio.messages) == (0 if before else 1)
        # Its lease runs out, another worker takes it over.
        for minutes in (2, 5):
            said = send(minutes)
        [message] = twilio.messages
        assert said.strip() == str(("sent", message["sid"]))
        asked = [request for request in twilio.requests if request.method == "GET"]
        assert len(asked) == 1
