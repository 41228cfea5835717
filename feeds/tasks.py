from celery import shared_task

from common.clock import utcnow
from common.passes import PASS_BUDGET, single_pass
from feeds.services.history import prune_polls
from feeds.services.hubs import keep_hubs
from feeds.services.polling import poll_due


@shared_task(name="feeds.poll")
@single_pass
def poll() -> None:
    poll_due(budget=PASS_BUDGET)


@shared_task(name="feeds.hubs")
@single_pass
def hubs() -> None:
    keep_hubs(budget=PASS_BUDGET)


@shared_task(name="feeds.prune")
@single_pass
def prune() -> None:
    prune_polls(now=utcnow(), budget=PASS_BUDGET)
