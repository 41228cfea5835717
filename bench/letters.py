"""Letters a second: ledgered and personalised, beside postfix's smtp-source, into the same sink."""

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager

from django.utils import timezone

from delivery.channels import channel
from delivery.channels.base import Recipient
from delivery.models import Delivery, Issue, Lane
from delivery.rendering.issue import render_issue
from delivery.services.facts import Collected, Post, issue_facts
from delivery.services.letters import issue_letter
from delivery.services.publishing import publish
from delivery.services.sending import send_due
from feeds.parsing.entry import Entry
from subscriptions.models import Destination, Subscribable, Subscription
from tests import services

COUNT = 3000
SESSIONS = 10
PARAGRAPH = "<p>The quick brown fox jumps over the lazy dog, and tells about it at some length.</p>"


def letters() -> dict[str, object]:
    """Our rate and smtp-source's, messages of the same size, ten connections each."""
    with sink() as port:
        from django.conf import settings

        settings.EMAIL_URL = f"smtp://127.0.0.1:{port}"
        issue = an_issue()
        size = letter_size(issue)
        baseline = smtp_source(port, size)
        publish(issue_id=issue.pk, now=timezone.now())
        started = time.perf_counter()
        report = send_due()
        rate = report.sent / (time.perf_counter() - started)
    assert report.sent == COUNT == Delivery.objects.filter(state="sent").count(), report
    return {
        "figure": f"ledgered letters of {size / 1000:.1f} KB",
        "rate": rate,
        "unit": "letters/s",
        "baseline": "smtp-source -s 10",
        "baseline_rate": baseline,
        "ratio": rate / baseline,
    }


@contextmanager
def sink() -> Iterator[int]:
    port, program = services.free_port(), services.program("smtp-sink")
    if program is None:
        raise services.Missing("smtp-sink (Debian: postfix)")
    user = ["-u", "nobody"] if os.geteuid() == 0 else []
    with services.running([program, *user, f"127.0.0.1:{port}", "1000"]):
        services.wait_until(lambda: _connect(port), "smtp-sink")
        yield port


def _connect(port: int) -> None:
    socket.create_connection(("127.0.0.1", port), timeout=1).close()


def smtp_source(port: int, size: int) -> float:
    """Messages a second that postfix's load generator reaches, reusing its sessions."""
    program = services.program("smtp-source")
    count = COUNT * 4
    command = [
        str(program),
        "-d",
        "-s",
        str(SESSIONS),
        "-m",
        str(count),
        "-l",
        str(size),
        f"127.0.0.1:{port}",
    ]
    started = time.perf_counter()
    subprocess.run(command, check=True, timeout=120, cwd="/")
    return count / (time.perf_counter() - started)


def an_issue() -> Issue:
    """A published-to-be issue with COUNT confirmed subscribers."""
    now = timezone.now()
    newsletter = Subscribable.objects.create(name="bench", title="Bench", from_email="Bench <b@example.org>")
    made = Destination.objects.bulk_create(
        Destination(kind="email", core=f"reader{n}@example.org", label=f"reader{n}@example.org")
        for n in range(COUNT)
    )
    Subscription.objects.bulk_create(
        Subscription(subscribable=newsletter, destination=row, status="confirmed", display_name="Reader")
        for row in made
    )
    Lane.objects.create(kind="email", account="default", concurrency=SESSIONS)
    entry = Entry(
        guid="1", title="A post", link="https://blog.example/1", content=PARAGRAPH * 3, published=now
    )
    contents = Collected(newsletter, "1", None, None, (Post(0, 0, entry),))
    rendered = render_issue(issue_facts(contents, now=now))
    return Issue.objects.create(
        subscribable=newsletter,
        within_type_id="1",
        token="b" * 24,
        title=rendered.title,
        subject=rendered.subject,
        html=rendered.html,
        text=rendered.text,
        holes=rendered.holes,
    )


def letter_size(issue: Issue) -> int:
    """Octets of one letter as it goes over the wire."""
    someone = Recipient(delivery_id=1, core="reader1@example.org", label="reader1@example.org", name="Reader")
    return len(channel("email").compose(issue_letter(issue), someone).data)
