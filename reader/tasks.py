from celery import shared_task

from common.clock import utcnow
from common.passes import PASS_BUDGET, skip_if_running
from reader.entries.place import place_due
from reader.entries.prune import prune as prune_places
from reader.people.readers import erase_leavers


@shared_task(name="reader.place")
@skip_if_running
def place() -> None:
    place_due(budget=PASS_BUDGET)


@shared_task(name="reader.prune")
@skip_if_running
def prune() -> None:
    erase_leavers(now=utcnow(), budget=PASS_BUDGET)
    prune_places(now=utcnow(), budget=PASS_BUDGET)
