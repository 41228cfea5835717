"""An installation with one issue to send, and senders that a fake service kills.

Fake service that kills the process that posts to it.
"""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.load.installation import Installation, sqlite_installation
from tests.servers.api_server import ApiServer, Reply, Request

SETUP = """
from common.clock import utcnow
from delivery.issues.publish import publish
from delivery.models import Issue, IssueItem, ServiceAccount
from feeds.parsing.entry import Entry
from subscriptions.models import Destination, Subscribable, Subscription
account = ServiceAccount(kind={channel!r}, name={account!r})
account.secrets = {secrets!r}
account.save()
letter = Subscribable.objects.create(name="bees", title="Bees", channel={channel!r}, options={options!r})
to = Destination.objects.create(kind={channel!r}, **{to!r})
Subscription.objects.create(subscribable=letter, destination=to, status="confirmed")
issue = Issue.objects.create(subscribable=letter, within_type_id="1", token="t" * 24, title="Bees",
                             subject="Bees", html="<p>Bees</p>", text="Bees")
entry = Entry(guid="1", title="On bees", link="https://blog.example/1")
IssueItem.objects.create(issue=issue, position=0, entry=entry.to_json())
publish(issue_id=issue.pk, now=utcnow())
"""
SEND = """
import django; django.setup()
import os
from datetime import timedelta
from common.clock import utcnow
from delivery.engine.send_pass import send_due
{service}
open({mark!r}, "w").write(str(os.getpid()))
send_due(clock=lambda: utcnow() + timedelta(minutes={minutes}))
from delivery.models import Delivery
print(*Delivery.objects.values_list("state", "remote_id"))
"""


@contextmanager
def one_issue(
    folder: Path,
    channel: str,
    *,
    account: str,
    secrets: dict[str, str],
    to: dict[str, object],
    options: dict[str, str],
) -> Iterator[Installation]:
    """Yield an installation with an issue for one destination, whose fields are `to`."""
    with sqlite_installation(folder) as made:
        made.script(SETUP.format(channel=channel, account=account, secrets=secrets, to=to, options=options))
        yield made


def send(installation: Installation, service: str, mark: Path, *, minutes: int) -> str:
    """Send what is due in `minutes`, in a process that writes its id to `mark`.

    `service` is Python code that redirects to the fake. Returns the delivery's printed state and remote id,
    or nothing if the process was killed.
    """
    text = SEND.format(service=service, mark=str(mark), minutes=minutes)
    return installation.python("-c", text).stdout.strip()


class Killer(ApiServer):
    """Mixin for a service: kill the first process that posts, after accepting the message.

    With `before`, kill it before accepting. `mark` is a file with that process's id. No client gets a
    response.
    """

    before = False
    mark: Path
    kills = 1

    def answer(self, request: Request) -> Reply:
        if not self.posts(request) or not self.kills:
            return super().answer(request)
        self.kills -= 1
        if not self.before:
            super().answer(request)
        os.kill(int(self.mark.read_text()), signal.SIGKILL)
        return Reply(hangs_up=True)
