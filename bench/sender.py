"""A pass of a send worker: `python -m bench.sender SECONDS PORT`.

Prints JSON: letters sent, seconds, and peak memory with its child process.
"""

import json
import os
import sys
import time
from datetime import timedelta
from pathlib import Path

MEGABYTE = 1000 * 1000


def main(seconds: float, port: int) -> None:
    import django

    django.setup()
    from django.conf import settings

    from feedletter_site.celery import app

    app.loader.import_default_modules()
    settings.EMAIL_URL = f"smtp://127.0.0.1:{port}"
    settings.BOUNCE_DOMAIN = "bounces.example.org"
    from delivery.engine.child_client import ChildProcess, keep_child_process
    from delivery.engine.send_pass import send_due

    # Workers keep it between passes.
    beside = ChildProcess()
    keep_child_process(beside)
    started = time.perf_counter()
    report = send_due(budget=timedelta(seconds=seconds))
    took = time.perf_counter() - started
    megabytes = peak_megabytes(os.getpid()) + peak_megabytes(beside.pid)
    print(json.dumps({"sent": report.sent, "seconds": took, "megabytes": megabytes}))


def peak_megabytes(pid: int) -> float:
    """VmHWM is in KiB."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) * 1024 / MEGABYTE


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "feedletter_site.settings")
    main(float(sys.argv[1]), int(sys.argv[2]))
