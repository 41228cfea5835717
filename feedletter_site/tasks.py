from celery import shared_task

from common.clock import utcnow
from common.passes import PASS_BUDGET, skip_if_running
from feedletter_site.migrate_from.take_over import work_off_arrivals
from feedletter_site.monitoring.figures import count_again
from feedletter_site.services.backups import back_up_tonight


@shared_task(name="feedletter_site.figures")
@skip_if_running
def figures() -> None:
    count_again()


@shared_task(name="feedletter_site.migrate_from")
@skip_if_running
def migrate_from() -> None:
    work_off_arrivals(budget=PASS_BUDGET)


@shared_task(name="feedletter_site.backup")
@skip_if_running
def backup() -> None:
    back_up_tonight(now=utcnow())
