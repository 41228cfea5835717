from celery import shared_task

from common.passes import skip_if_running
from feedletter_site.monitoring.figures import count_again


@shared_task(name="feedletter_site.figures")
@skip_if_running
def figures() -> None:
    count_again()
