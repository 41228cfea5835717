from celery import shared_task

from common.clock import utcnow
from common.passes import PASS_BUDGET, single_pass
from subscriptions.services.assigning import assign_final
from subscriptions.services.erasing import sweep_erased
from subscriptions.services.expiring import expire as expire_unconfirmed
from subscriptions.services.expiring import forget_tallies
from subscriptions.services.list_imports import forget_old
from subscriptions.services.list_working import work_off
from subscriptions.services.signing_in import forget_links


@shared_task(name="subscriptions.assign")
@single_pass
def assign() -> None:
    assign_final(budget=PASS_BUDGET)


@shared_task(name="subscriptions.forget")
@single_pass
def forget() -> None:
    forget_links(now=utcnow())
    sweep_erased(now=utcnow())
    forget_old(now=utcnow())


@shared_task(name="subscriptions.expire")
@single_pass
def expire() -> None:
    expire_unconfirmed(now=utcnow())
    forget_tallies(now=utcnow())


@shared_task(name="subscriptions.lists")
@single_pass
def lists() -> None:
    work_off(budget=PASS_BUDGET)
