"""Real processes: simultaneous starts get one key, and a killed worker's push is replaced."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import forks
from tests.databases import migrated_file
from tests.e2e.processes import ROOT, clean_environment, until
from tests.examples import NIGHTLY
from tests.servers.api_server import Reply
from tests.servers.services.push_service import PushService

pytestmark = NIGHTLY

BEGIN = """
import json, sys, os, django
os.environ["DJANGO_SETTINGS_MODULE"] = "feedletter_site.settings"
django.setup()
"""
KEY = "from delivery.accounts.dkim_keys import push_public_key\nprint(push_public_key())"
# A newsletter, a device that subscribes, and an issue that is published to it.
PUBLISHED = """
from common.clock import utcnow
from delivery.issues.publish import publish
from delivery.models import Issue
from feeds.models import Feed
from subscriptions.newsletters.define import define_subscribable
from subscriptions.rules.origin import Origin
from subscriptions.subscribers.devices import tell_device
from delivery.accounts.dkim_keys import push_public_key
push_public_key()
feed = Feed.objects.create(url="https://blog.example/f", host="blog.example", next_poll_at=utcnow())
newsletter = define_subscribable(name="bees", feeds=[feed], offers_devices=True)
tell_device(newsletter=newsletter, data=json.loads(sys.argv[1]), origin=Origin(), now=utcnow())
issue = Issue.objects.create(subscribable=newsletter, within_type_id="1", title="Swarms", token="bees-1")
print(publish(issue_id=issue.pk, now=utcnow()))
"""
SEND = "from delivery.engine.send_pass import send_due\nprint(send_due().sent)"
# Expires the lease of a killed process, which would take a minute.
LATER = """
from datetime import timedelta
from common.clock import utcnow
from delivery.models import Delivery
assert Delivery.objects.get().state == "sending"
Delivery.objects.update(lease_until=utcnow() - timedelta(seconds=1))
"""
STATE = "from delivery.models import Delivery\nrow = Delivery.objects.get()\nprint(row.state, row.attempts)"


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Return the environment of a new installation with all tables."""
    shutil.copy(migrated_file(), tmp_path / "feedletter.db")
    return clean_environment(
        {
            "SECRET_KEY": "s3cret-" * 8,
            "DATA_DIR": str(tmp_path),
            "DATABASE_URL": f"sqlite:///{tmp_path}/feedletter.db",
            "ALLOW_PRIVATE_NETWORKS": "127.0.0.1/32",
            "SITE_URL": "http://127.0.0.1:9",
        }
    )


@pytest.fixture
def service() -> Iterator[PushService]:
    with PushService() as running:
        yield running


def process(code: str, *arguments: str, environment: dict[str, str]) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", BEGIN + code, *arguments]
    return forks.Process(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)


def said(code: str, *arguments: str, environment: dict[str, str]) -> str:
    """Return the last line that the process printed; assert success."""
    running = process(code, *arguments, environment=environment)
    printed, _ = running.communicate(timeout=60)
    assert running.returncode == 0
    return printed.strip()


def test_processes_that_start_at_once_end_with_one_key(environment: dict[str, str]) -> None:
    four = [process(KEY, environment=environment) for _ in range(4)]
    keys = {one.communicate(timeout=120)[0].strip() for one in four}
    assert [one.returncode for one in four] == [0] * 4
    assert len(keys) == 1
    assert len(keys.pop()) == 87


def test_a_push_whose_worker_was_killed_is_replaced_by_its_repetition(
    environment: dict[str, str], service: PushService
) -> None:
    import json

    assert said(PUBLISHED, json.dumps(service.subscribe()), environment=environment) == "1"
    # The push is accepted, and no response is sent: then the worker is killed.
    service.says = Reply(takes=True, silent=True)
    worker: Any = process(SEND, environment=environment)
    until(lambda: service.taken, "the push", 60)
    os.kill(worker.pid, signal.SIGKILL)
    worker.wait()
    service.says = None
    said(LATER, environment=environment)
    assert said(SEND, environment=environment) == "1"
    assert said(STATE, environment=environment).startswith("sent")
    assert len(service.taken) == 2
    # One push waits at the service, and one notification is shown: both have the same name.
    assert len(service.waiting) == 1
    assert len({message["tag"] for message in service.taken}) == 1
