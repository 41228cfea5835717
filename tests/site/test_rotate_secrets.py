"""After `rotate_secrets` an earlier SECRET_KEY decrypts nothing that is stored.

The secret key that the embedded default creates.
"""

import json
import os
import subprocess
import sys
from contextlib import ExitStack
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from common.secrets import decrypt, encrypt, opened
from delivery.letters.build import SEALED, opened_context
from delivery.models import Delivery
from feedletter_site.services import secret_rotation
from subscriptions.models import Destination
from tests import forks
from tests.e2e.processes import clean_environment
from tests.factories import DeliveryFactory, DestinationFactory, FeedFactory, LaneFactory

ROOT = Path(__file__).parent.parent.parent
ROUNDS = 20
# The first access imports what the others need, so that the processes compete for each key.
SHOW = f"""
import os, runpy, sys
data = os.environ['DATA_DIR']
runpy.run_path('feedletter_site/settings.py')
del os.environ['SECRET_KEY']
print('ready', flush=True)
for round in range({ROUNDS}):
    sys.stdin.readline()
    os.environ['DATA_DIR'] = f'{{data}}/{{round}}'
    print(runpy.run_path('feedletter_site/settings.py')['SECRET_KEY'], flush=True)
"""
OLD, NEW = "an old key " * 8, "a new key " * 8


def rotate(*options: str) -> dict[str, Any]:
    out = StringIO()
    call_command("rotate_secrets", *options, "--json", stdout=out)
    facts: dict[str, Any] = json.loads(out.getvalue())
    return facts


@pytest.fixture
def rows(settings: Any) -> list[Destination]:
    """Create seven secrets in four tables and an unreadable one, all older than the newest key."""
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "a lost key " * 8, []
    DestinationFactory(kind="lost", secrets={"token": "lost"})
    settings.SECRET_KEY = OLD
    FeedFactory(credentials={"user": "ada"})
    LaneFactory(state={"token": "lane"})
    DeliveryFactory(kind="alert", context={SEALED: encrypt({"reset_url": "link"}), "name": "Ada"})
    destinations: list[Destination] = DestinationFactory.create_batch(4, kind="mastodon", secrets={"t": "1"})
    DestinationFactory()
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = NEW, [OLD]
    return destinations


@pytest.mark.django_db
def test_every_secret_has_the_newest_key_afterwards(
    rows: list[Destination], settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(secret_rotation, "ROWS_AT_ONCE", 2)
    lost = f"subscriber {Destination.objects.get(kind='lost').pk}"
    expected = {"rotated": 7, "current": 0, "unreadable": [lost]}
    assert rotate("--dry-run") == {**expected, "dry_run": True}
    assert rotate() == {**expected, "dry_run": False}
    settings.SECRET_KEY_FALLBACKS = []
    for row in rows:
        row.refresh_from_db()
        assert opened(row.secrets) == {"t": "1"}
    mail = Delivery.objects.get(kind="alert")
    assert opened_context(mail.context) == {"reset_url": "link", "name": "Ada"}
    assert rotate() == {**expected, "rotated": 0, "current": 7, "dry_run": False}
    settings.SECRET_KEY = OLD
    with pytest.raises(ValueError, match="SECRET_KEY"):
        decrypt(rows[0].secrets.token)


@pytest.mark.django_db
def test_what_somebody_changes_meanwhile_stays(
    rows: list[Destination], monkeypatch: pytest.MonkeyPatch
) -> None:
    def changed_first(token: str) -> str:
        Destination.objects.filter(kind="mastodon").update(secrets={"t": "theirs"})
        return encrypt(decrypt(token))

    monkeypatch.setattr(secret_rotation, "rotated", changed_first)
    Destination.objects.filter(kind="lost").delete()
    rotate()
    assert {str(opened(row.secrets)) for row in Destination.objects.filter(kind="mastodon")} == {
        "{'t': 'theirs'}"
    }


@pytest.mark.slow
def test_processes_that_start_together_have_one_key_that_nobody_else_can_read(tmp_path: Path) -> None:
    environment = clean_environment({"DATA_DIR": str(tmp_path), "SECRET_KEY": "given" * 10})
    with ExitStack() as stack:
        started = [
            stack.enter_context(
                forks.Process(
                    [sys.executable, "-c", SHOW],
                    cwd=ROOT,
                    env=environment,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                )
            )
            for _ in range(4)
        ]
        talks = [(process.stdin, process.stdout) for process in started]
        for _, said in talks:
            assert said is not None
            assert said.readline() == "ready\n"
        for number in range(ROUNDS):
            for told, _ in talks:
                assert told is not None
                told.write("go\n")
                told.flush()
            keys = {said.readline().strip() for _, said in talks if said is not None}
            own = tmp_path / str(number)
            assert keys == {(own / "secret_key").read_text("ascii")}
            assert len(keys.pop()) >= 50
            assert {*os.listdir(own)} == {"secret_key", "feedletter.db"}
            assert (own / "secret_key").stat().st_mode & 0o077 == 0
