import logging
import os
import sys
import threading
import time
import warnings
from typing import Any

from celery import Celery
from celery.exceptions import SecurityWarning
from celery.signals import beat_init, celeryd_init, setup_logging, worker_init, worker_shutting_down
from django.core.checks import run_checks
from django.db import DatabaseError, connection

from common.checks import OWN_CHECKS
from common.program import ROOT
from feedletter_site.logs import log_as_we_do

# Seconds for a graceful shutdown, then between checks for an outage.
GOODBYE_SECONDS, OUTAGE_LOOK_SECONDS = 8.0, 0.5
ENDED_WITHOUT_DATABASE = 1
log = logging.getLogger(__name__)


def end_in_time(**_: object) -> None:
    threading.Thread(target=_watch, name="ending", daemon=True).start()


def _watch() -> None:
    """Threads that wait for the database would keep the process alive."""
    time.sleep(GOODBYE_SECONDS)
    # Workers on SQLite do not need it.
    from common.postgresql.patience import Away

    while not Away.database_unreachable:
        time.sleep(OUTAGE_LOOK_SECONDS)
    log.warning("The database is unavailable, so this worker stops. Its work is requeued in a minute.")
    os._exit(ENDED_WITHOUT_DATABASE)


os.environ.setdefault("DJANGO_SETTINGS_MODULE", "feedletter_site.settings")

# Django's checks would load all pages.
os.environ.setdefault("CELERY_SKIP_CHECKS", "1")

# Celery warns of root because of pickle, but messages are JSON.
warnings.filterwarnings("ignore", "You're running the worker with superuser", SecurityWarning)

paths = sys.path.copy()
app = Celery("feedletter")
# Celery's fixup for Django has put the working directory first, with all modules that happen to be there. Its
# command has our folder on the path only during this import, and then removes it once.
sys.path[:] = [str(ROOT), *paths]
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
worker_shutting_down.connect(end_in_time)
celeryd_init.connect(log_as_we_do)
setup_logging.connect(log_as_we_do)


@worker_init.connect
def check_settings(**_: Any) -> None:
    for message in run_checks(tags=[OWN_CHECKS]):
        if not message.is_silenced():
            log.log(message.level, "%s", " ".join(filter(None, [message.msg, message.hint])))


@worker_init.connect
@beat_init.connect
def refuse_newer_database(**_: Any) -> None:
    from feedletter_site.checks import too_new

    try:
        reason = too_new(connection)
    except DatabaseError:
        return  # It will be waited for.
    finally:
        connection.close()
    if reason:
        raise SystemExit(reason)


@worker_init.connect
def restore_no_ticks(**_: Any) -> None:
    """Drop unacknowledged ticks, which kombu would write to a file if it cannot give them back."""
    from kombu.transport.virtual import Channel

    Channel.do_restore = False


@app.on_after_configure.connect
def put_steps_into_the_worker(sender: Celery, **_: Any) -> None:
    """With the broker in memory, the worker runs beat, too."""
    sender.steps["worker"].add("feedletter_site.ticks.bootsteps:OwnTicksThread")
    if str(sender.conf.broker_url).startswith("memory:"):
        sender.steps["worker"].add("feedletter_site.ticks.bootsteps:BeatThread")
