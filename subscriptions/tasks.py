from celery import shared_task

from common.passes import PASS_BUDGET, single_pass
from subscriptions.services.assigning import assign_final


@shared_task(name="subscriptions.assign")
@single_pass
def assign() -> None:
    assign_final(budget=PASS_BUDGET)
