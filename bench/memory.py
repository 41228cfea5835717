"""Memory of `manage.py up` at rest, and of the demo while its pages are looked at.

`MINUTES` says for how long. Each minute is printed to standard error.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import requests
from bs4 import BeautifulSoup

from bench.pages import kind
from bench.web import PATIENCE_SECONDS
from demo.environment import environment
from tests.services import free_port

ROOT = Path(__file__).parent.parent
REST_SECONDS = 20.0
AT_REST_MB, LOOKED_AT_MB = 170.0, 240.0
MINUTES = float(os.environ.get("MINUTES", "5"))
STARTS = ("/admin/", "/reader/", "/mailbox/", "/", "/api/v1/schema/", "/metrics", "/readyz?stages")
# Between two pages: a light load.
PAUSE_SECONDS = 0.5
# The demo's blog and services are not part of the site.
NOT_OURS = {"demo.server", "demo.services"}


def memory() -> list[dict[str, object]]:
    with tempfile.TemporaryDirectory(prefix="feedletter-bench-") as name:
        folder = Path(name)
        with running(["up"], fresh_site(folder)) as (process, url):
            until_it_answers(url)
            time.sleep(REST_SECONDS)
            results = [figure("up at rest", process.pid, AT_REST_MB)]
        with demo(folder) as (pid, session, url):
            results.append(figure("demo, not looked at yet", pid, AT_REST_MB))
            for minute in look(session, url, MINUTES):
                print(f"{minute:5.1f} min: {parts(pid)}", file=sys.stderr, flush=True)
            results.append(figure(f"demo, pages for {MINUTES:.0f} min", pid, LOOKED_AT_MB))
    return results


@contextmanager
def demo(folder: Path) -> Iterator[tuple[int, requests.Session, str]]:
    """Yield the supervisor's process id, a session of the admin, and the URL."""
    os.environ["BIND"] = f"127.0.0.1:{free_port()}"
    own = environment(folder / "demo", os.environ)
    own |= {"DATABASE_URL": f"sqlite:///{folder}/demo/demo.db", "SECRET_KEY": "only for the bench" * 3}
    with running(["demo", "--json"], own) as (process, url):
        yield process.pid, signed_in(process), url


def fresh_site(folder: Path) -> dict[str, str]:
    port = free_port()
    given = {name: os.environ[name] for name in ("PATH", "SECRET_KEY", "PROCESSES") if name in os.environ}
    return given | {
        "BIND": f"127.0.0.1:{port}",
        "DATA_DIR": str(folder / "up"),
        "DATABASE_URL": f"sqlite:///{folder}/up/feedletter.db",
    }


@contextmanager
def running(command: list[str], own: dict[str, str]) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """Yield the process, which becomes the supervisor, and the site's URL."""
    process = subprocess.Popen(
        [sys.executable, "manage.py", *command], cwd=ROOT, env=own, stdout=subprocess.PIPE, text=True
    )
    try:
        yield process, f"http://{own['BIND']}"
    finally:
        process.terminate()
        process.wait(PATIENCE_SECONDS + 10)


def signed_in(process: "subprocess.Popen[str]") -> requests.Session:
    """Wait for the replay; return a session of the demo's admin and reader."""
    assert process.stdout
    text = ""
    for line in process.stdout:
        text += line
        if line == "}\n":
            break
    url = json.loads(text)["urls"]["admin"]
    until_it_answers(url.partition(urlsplit(url).path)[0])
    session = requests.Session()
    session.get(url, timeout=PATIENCE_SECONDS).raise_for_status()
    return session


def until_it_answers(url: str) -> None:
    end = time.monotonic() + 4 * PATIENCE_SECONDS
    while True:
        try:
            if requests.get(f"{url}/readyz", timeout=PATIENCE_SECONDS).ok:
                return
        except requests.ConnectionError:
            pass
        assert time.monotonic() < end, "the site does not answer"
        time.sleep(0.2)


def look(session: requests.Session, url: str, minutes: float) -> Iterator[float]:
    """Open a page of each kind, again and again; yield the minutes once a minute."""
    begun = said = time.monotonic()
    while (now := time.monotonic()) < begun + minutes * 60:
        for _ in pages(session, url):
            now = time.monotonic()
            if now - said >= 60:
                said = now
                yield (now - begun) / 60
            if now >= begun + minutes * 60:
                break
            time.sleep(PAUSE_SECONDS)


def pages(session: requests.Session, url: str) -> Iterator[str]:
    """Follow links; yield each page's path when it was answered."""
    waiting = [f"{url}{path}" for path in STARTS]
    kinds = {kind(each) for each in waiting}
    for each in waiting:
        answer = session.get(each, timeout=PATIENCE_SECONDS)
        yield urlsplit(each).path
        if "text/html" not in answer.headers.get("Content-Type", ""):
            continue
        for link in BeautifulSoup(answer.text, "html.parser").select("a[href]"):
            linked = urljoin(each, str(link["href"])).partition("#")[0]
            if linked.startswith(url) and kind(linked) not in kinds and "logout" not in linked:
                kinds.add(kind(linked))
                waiting.append(linked)


def figure(name: str, pid: int, most: float) -> dict[str, object]:
    mb = sum(shares(pid).values())
    print(f"{name}: {parts(pid)}", file=sys.stderr, flush=True)
    shared: dict[str, object] = {"figure": name, "rate": mb, "unit": "MB", "baseline": "it may use"}
    return shared | {"baseline_rate": most, "ratio": most / mb}


def parts(pid: int) -> str:
    mine = shares(pid)
    return f"{sum(mine.values()):.1f} MB = " + " + ".join(f"{mb:.1f}" for mb in mine.values())


def shares(pid: int) -> dict[int, float]:
    """Return the proportional set size in MB of each process of the site, by process id."""
    sizes, waiting = {}, [pid]
    for each in waiting:
        # It may end meanwhile, or a thread of it.
        with suppress(OSError):
            for task in Path(f"/proc/{each}/task").iterdir():
                with suppress(OSError):
                    waiting += map(int, (task / "children").read_text().split())
            if {*Path(f"/proc/{each}/cmdline").read_text().split("\0")} & NOT_OURS:
                continue
            match = re.search(r"^Pss:\s+(\d+) kB", Path(f"/proc/{each}/smaps_rollup").read_text(), re.M)
            if match:
                sizes[each] = int(match[1]) / 1024
    return sizes
