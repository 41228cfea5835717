"""The worker's Celery application with a tick that takes longer than a broker's outage."""

import os
import time
from pathlib import Path

from feedletter_site.celery import app

__all__ = ["app"]


@app.task(name="slow")
def slow() -> None:
    time.sleep(2)
    with Path(os.environ["TICKS"]).open("a") as ticks:
        ticks.write("tick\n")
