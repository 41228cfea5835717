from celery import shared_task
from celery.signals import worker_shutting_down

from common.clock import utcnow
from common.passes import PASS_BUDGET, single_pass
from delivery.services import reaping
from delivery.services.alerting import tell_admins
from delivery.services.calling_webhooks import call_due
from delivery.services.collecting_bounces import read_bounces
from delivery.services.completing import complete_due
from delivery.services.draft_alerts import tell_of_drafts
from delivery.services.pause_alerts import tell_of_pauses
from delivery.services.pausing import settle_pauses
from delivery.services.pruning import prune as forget
from delivery.services.restoring import finish_go
from delivery.services.sending import send_due
from delivery.services.stopping import stop

worker_shutting_down.connect(stop)


@shared_task(name="delivery.complete")
@single_pass
def complete() -> None:
    complete_due(budget=PASS_BUDGET)


@shared_task(name="delivery.send")
@single_pass
def send() -> None:
    send_due(budget=PASS_BUDGET)


@shared_task(name="delivery.reap")
@single_pass
def reap() -> None:
    reaping.reap(now=utcnow())
    settle_pauses(now=utcnow(), budget=PASS_BUDGET)
    finish_go(now=utcnow(), budget=PASS_BUDGET)


@shared_task(name="delivery.alert")
@single_pass
def alert() -> None:
    tell_admins(now=utcnow())
    tell_of_drafts(now=utcnow())
    tell_of_pauses(now=utcnow())


@shared_task(name="delivery.webhooks")
@single_pass
def webhooks() -> None:
    call_due(budget=PASS_BUDGET)


@shared_task(name="delivery.bounces")
@single_pass
def bounces() -> None:
    read_bounces(budget=PASS_BUDGET)


@shared_task(name="delivery.prune")
@single_pass
def prune() -> None:
    forget(now=utcnow(), budget=PASS_BUDGET)
