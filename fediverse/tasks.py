from celery import shared_task

from common.clock import utcnow
from common.passes import PASS_BUDGET, skip_if_running
from fediverse.exchange import drop_old, exchange_due


@shared_task(name="fediverse.exchange")
@skip_if_running
def exchange() -> None:
    exchange_due(budget=PASS_BUDGET)


@shared_task(name="fediverse.tidy")
@skip_if_running
def tidy() -> None:
    drop_old(now=utcnow())
