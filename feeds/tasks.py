from celery import shared_task

from common.clock import utcnow
from common.passes import PASS_BUDGET, skip_if_running
from feeds.hubs.subscriptions import keep_hubs, read_pushes
from feeds.items.history import prune_polls, prune_versions
from feeds.polling.audience import repair_audience
from feeds.polling.poll import poll_due
from feeds.polling.whole import read_pages


@shared_task(name="feeds.poll")
@skip_if_running
def poll() -> None:
    poll_due(budget=PASS_BUDGET)


@shared_task(name="feeds.pushes")
@skip_if_running
def pushes() -> None:
    read_pushes(budget=PASS_BUDGET)


@shared_task(name="feeds.hubs")
@skip_if_running
def hubs() -> None:
    keep_hubs(budget=PASS_BUDGET)


@shared_task(name="feeds.audience")
@skip_if_running
def audience() -> None:
    repair_audience(now=utcnow(), budget=PASS_BUDGET)


@shared_task(name="feeds.pages")
@skip_if_running
def pages() -> None:
    read_pages(budget=PASS_BUDGET)


@shared_task(name="feeds.prune")
@skip_if_running
def prune() -> None:
    prune_polls(now=utcnow(), budget=PASS_BUDGET)
    prune_versions(now=utcnow(), budget=PASS_BUDGET)
