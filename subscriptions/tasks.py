from celery import shared_task

from common.clock import utcnow
from common.passes import PASS_BUDGET, skip_if_running
from common.rates import forget_rows
from subscriptions.collections.assign import assign_final
from subscriptions.lists.worker import work_off_imports
from subscriptions.privacy.erase import sweep_erased
from subscriptions.subscribers.address_change import forget_address_changes
from subscriptions.subscribers.leave import expire_sign_ups
from subscriptions.subscribers.sign_in import forget_links


@shared_task(name="subscriptions.assign")
@skip_if_running
def assign() -> None:
    assign_final(budget=PASS_BUDGET)


@shared_task(name="subscriptions.forget")
@skip_if_running
def forget() -> None:
    forget_links(now=utcnow())
    forget_address_changes(now=utcnow())
    sweep_erased(now=utcnow())


@shared_task(name="subscriptions.expire")
@skip_if_running
def expire() -> None:
    expire_sign_ups(now=utcnow())
    forget_rows(now=utcnow())


@shared_task(name="subscriptions.lists")
@skip_if_running
def lists() -> None:
    work_off_imports(budget=PASS_BUDGET)
