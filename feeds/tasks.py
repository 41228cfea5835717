from celery import shared_task

from common.passes import PASS_BUDGET, single_pass
from feeds.services.polling import poll_due


@shared_task(name="feeds.poll")
@single_pass
def poll() -> None:
    poll_due(budget=PASS_BUDGET)
