from celery import shared_task
from celery.signals import worker_shutting_down

from common.clock import utcnow
from common.passes import PASS_BUDGET, skip_if_running
from common.shutdown import stop
from delivery.alerts.pauses import tell_of_everything
from delivery.bounces.sources import read_bounces
from delivery.engine import claim
from delivery.engine.claim import finish_go
from delivery.engine.send_pass import send_due
from delivery.issues.complete import complete_due
from delivery.issues.contents import fill_cards, fill_cards_at_first
from delivery.issues.pause import finish_pauses
from delivery.issues.publish import finish_issues
from delivery.issues.send_series import send_series
from delivery.old_issues.worker import work_off_issue_imports
from delivery.privacy.retention import prune_old_data
from delivery.views.rss import feed_document
from delivery.webhooks.calls import call_due
from delivery.webhooks.hub import HUB_BUDGET, serve_hub

# Webhooks wait meanwhile.
worker_shutting_down.connect(stop)


@shared_task(name="delivery.complete")
@skip_if_running
def complete() -> None:
    complete_due(budget=PASS_BUDGET)
    send_series(budget=PASS_BUDGET)
    fill_cards_at_first()


@shared_task(name="delivery.send")
@skip_if_running
def send() -> None:
    send_due(budget=PASS_BUDGET)


@shared_task(name="delivery.reap")
@skip_if_running
def reap() -> None:
    claim.reap_expired(now=utcnow())
    finish_pauses(now=utcnow(), budget=PASS_BUDGET)
    finish_issues(now=utcnow(), budget=PASS_BUDGET)
    finish_go(now=utcnow(), budget=PASS_BUDGET)


@shared_task(name="delivery.alert")
@skip_if_running
def alert() -> None:
    tell_of_everything(now=utcnow())


@shared_task(name="delivery.webhooks")
@skip_if_running
def webhooks() -> None:
    call_due(budget=PASS_BUDGET)
    serve_hub(document=feed_document, budget=HUB_BUDGET)


@shared_task(name="delivery.bounces")
@skip_if_running
def bounces() -> None:
    read_bounces(budget=PASS_BUDGET)


@shared_task(name="delivery.old_issues")
@skip_if_running
def old_issues() -> None:
    work_off_issue_imports(budget=PASS_BUDGET)


@shared_task(name="delivery.prune")
@skip_if_running
def prune() -> None:
    prune_old_data(now=utcnow(), budget=PASS_BUDGET)
    fill_cards(budget=PASS_BUDGET)
