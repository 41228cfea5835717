"""An app that is switched off has its tables, and nothing else."""

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from tests import forks
from tests.databases import ROOT, migrated_file
from tests.environment import SWITCHES
from tests.site.switched_off import PAGES

OFF = {"reader": {"READER": "off"}, "chat": {"DISCORD_APPLICATION_ID": "", "DISCORD_BOT_TOKEN": ""}}


def facts(folder: Path, variables: dict[str, str]) -> dict[str, Any]:
    """Of a process with these variables and a database in which all stages have rows."""
    shutil.copy(migrated_file(), folder / "site.db")
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "feedletter_site.settings",
        "DATABASE_URL": f"sqlite:///{folder}/site.db",
        **SWITCHES,
        **variables,
    }
    code = "import django, json; django.setup(); from tests.site.switched_off import facts; "
    command = [sys.executable, "-c", code + "print(json.dumps(facts()))"]
    done = forks.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


@pytest.fixture(scope="module", params=OFF)
def app(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def off(app: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return facts(tmp_path_factory.mktemp(app), OFF[app])


@pytest.fixture(scope="module")
def on(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return facts(tmp_path_factory.mktemp("on"), {})


@pytest.mark.needs("reader")
@pytest.mark.needs("chat")
def test_what_is_looked_for_is_there_while_all_is_on(on: dict[str, Any], app: str) -> None:
    assert 404 not in {on["statuses"][page] for page in PAGES[app]}
    assert app in on["queues"]
    assert app in on["commands"].values()
    for names in ("stages", "ticks", "new_rows"):
        assert [name for name in on[names] if name.startswith(f"{app}.")]
    assert [link for link in on["links"] if f"/admin/{app}/" in str(link)]


def test_none_of_its_pages_is_there(off: dict[str, Any], app: str) -> None:
    assert {off["statuses"][page] for page in PAGES[app]} == {404}
    own = {
        "reader": ("reader/", "@", "indieauth/", "microsub/", "webmention/", "greader", "api/greader"),
        "chat": ("discord/",),
    }[app]
    below = (*own, f"admin/{app}/", *(f"admin/{path}" for path in own))
    assert [path for path in off["paths"] if path.startswith(below)] == []


def test_neither_the_menu_nor_the_overview_leads_to_it(off: dict[str, Any], app: str) -> None:
    words = {"reader": "Read feeds here", "chat": "Discord bot"}[app]
    assert words not in off["overview"]
    ways = (f"/admin/{app}/", *PAGES[app])
    assert [link for link in off["links"] if str(link).startswith(ways)] == []
    assert f"feedletter_{app}" not in off["metrics"]
    assert f'"{app}.' not in off["metrics"]


def test_beat_ticks_none_of_its_stages_and_the_schedule_lists_none(off: dict[str, Any], app: str) -> None:
    """Though their rows are there, as it was on before."""
    for names in ("stages", "ticks", "new_rows"):
        assert off[names]
        assert [name for name in off[names] if name.startswith(f"{app}.")] == []


def test_the_worker_that_up_starts_has_no_queue_of_it(off: dict[str, Any], app: str) -> None:
    assert app not in off["queues"]
    assert {"default", "poll", "send"} <= set(off["queues"])


def test_it_has_no_command_but_the_one_by_which_the_bot_begins(off: dict[str, Any], app: str) -> None:
    own = {name for name, owner in off["commands"].items() if owner == app}
    assert own == {"reader": set(), "chat": {"discord_register"}}[app]


def test_its_migrations_stay(off: dict[str, Any], app: str) -> None:
    assert app in off["migrated"]
