from celery import shared_task

from common.clock import utcnow
from common.passes import PASS_BUDGET, skip_if_running
from fediverse import exchange as exchanges


@shared_task(name="fediverse.exchange")
@skip_if_running
def exchange() -> None:
    exchanges.exchange(budget=PASS_BUDGET)


@shared_task(name="fediverse.tidy")
@skip_if_running
def tidy() -> None:
    exchanges.tidy(now=utcnow())
