"""Alert rules, dashboard and scrape snippet of docs/operating/watch.md, in a real Prometheus."""

import json
import os
import re
import subprocess
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from feedletter_site.management.commands.up import plan
from tests.e2e.journey import SECRET
from tests.e2e.processes import answers, running, until
from tests.examples import NIGHTLY
from tests.load.installation import sqlite_installation
from tests.services import free_port, program
from tests.site.monitoring.test_metrics import ALERTS, ROOT, expressions

pytestmark = NIGHTLY
TOKEN = "a-token-that-is-long-and-secret"
UNIT_TESTS = Path(__file__).with_name("prometheus-alerts.test.yml")
# A row of each counter, of each stage, and work that is due.
SEED = """
from common.clock import utcnow
from feedletter_site.models import Counted
from feedletter_site.monitoring.metrics import COUNTED_EVENTS
from feedletter_site.monitoring.vitals import write_stages
from feedletter_site.ticks.schedule import STAGES
from tests.factories import DeliveryFactory, ItemFactory

Counted.objects.bulk_create(Counted(name=name, label="a", count=1) for name in COUNTED_EVENTS)
for column in ("ticked_at", "ran_at"):
    write_stages(column, dict.fromkeys(STAGES, utcnow()))
DeliveryFactory(due_at=utcnow())
ItemFactory()
"""
Ask = Callable[..., Any]


def installed(name: str) -> str:
    path = program(name)
    if path is None:
        missing = pytest.fail if os.environ.get("REQUIRE_SERVICES") == "1" else pytest.skip
        missing(f"Missing: {name} (Debian: prometheus)")
    return str(path)


@pytest.mark.parametrize("command", [("check", "rules", str(ALERTS)), ("test", "rules", str(UNIT_TESTS))])
def test_the_alert_rules_are_valid_and_each_fires_in_time(command: tuple[str, ...]) -> None:
    done = subprocess.run(
        [installed("promtool"), *command], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ask]:
    """Run a web process, and a Prometheus with the snippet; yield a function that asks its API."""
    folder = tmp_path_factory.mktemp("prometheus")
    port, own = free_port(), free_port()
    web = plan(f"127.0.0.1:{port}", processes=2).commands["web"]
    (folder / ALERTS.name).write_text(ALERTS.read_text())
    (folder / "prometheus.yml").write_text(configuration(port))
    command = [
        installed("prometheus"),
        f"--config.file={folder}/prometheus.yml",
        f"--storage.tsdb.path={folder}/data",
        f"--web.listen-address=127.0.0.1:{own}",
    ]
    url = f"http://127.0.0.1:{own}"

    def ask(path: str, **query: str) -> Any:
        with urllib.request.urlopen(f"{url}/api/v1/{path}?{urllib.parse.urlencode(query)}") as answer:
            return json.load(answer)["data"]

    with sqlite_installation(folder, METRICS_TOKEN=TOKEN, SITE_URL="http://letters.example.org") as site:
        site.script(SEED)
        with (
            running("web", web, {**site.environment, "SECRET_KEY": SECRET}, folder),
            running("prometheus", command, {}, folder),
        ):
            until(lambda: answers(f"{url}/-/ready"), "Prometheus", seconds=60)
            counted = 'count_over_time(up{job="feedletter"}[5m]) > 3'
            until(lambda: ask("query", query=counted)["result"], "Some scrapes", seconds=60)
            yield ask


def configuration(port: int) -> str:
    """Return the snippet, over http and by a proxy: letters.example.org has no address here.

    A second job has no token.
    """
    page = (ROOT / "docs" / "operating" / "watch.md").read_text(encoding="utf-8")
    snippet = page.partition("```yaml\n")[2].partition("```")[0]
    proxied = f"scheme: http\n    proxy_url: http://127.0.0.1:{port}"
    snippet = snippet.replace("scheme: https", proxied).replace("METRICS_TOKEN", TOKEN)
    job = snippet[snippet.index("  - job_name") : snippet.index("rule_files")]
    without = re.sub(r" *authorization.*\n", "", job.replace("job_name: feedletter", "job_name: stranger"))
    snippet = snippet.replace("rule_files", f"{without}rule_files")
    return f"global: {{scrape_interval: 1s, evaluation_interval: 1s}}\n{snippet}"


def test_the_snippet_scrapes_with_the_token_only(prometheus: Ask) -> None:
    targets = prometheus("targets")["activeTargets"]
    health = {target["labels"]["job"]: (target["health"], target["lastError"]) for target in targets}
    assert health["feedletter"] == ("up", "")
    assert health["stranger"] == ("down", "server returned HTTP status 403 Forbidden")


def test_it_reads_the_alert_rules(prometheus: Ask) -> None:
    (group,) = prometheus("rules")["groups"]
    assert len(group["rules"]) > 8
    assert {rule["health"] for rule in group["rules"]} == {"ok"}


def test_every_panel_of_the_dashboard_has_data(prometheus: Ask) -> None:
    empty = [expr for expr in expressions() if not prometheus("query", query=expr)["result"]]
    assert empty == []
