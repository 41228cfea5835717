from celery import shared_task

from chat.alerts.post import apply_decisions, ask_after_guilds, tell
from chat.guilds.feeds import forget_old, post_first
from chat.guilds.servers import keep_quotas, renew_token
from chat.guilds.shared import give_over
from chat.interactions.work import answer_due, forget_interactions
from common.clock import utcnow
from common.passes import PASS_BUDGET, skip_if_running


@shared_task(name="chat.answer")
@skip_if_running
def answer() -> None:
    answer_due(budget=PASS_BUDGET)


@shared_task(name="chat.notify")
@skip_if_running
def notify() -> None:
    post_first(now=utcnow())
    keep_quotas(now=utcnow())
    tell(now=utcnow())
    apply_decisions(now=utcnow())
    give_over(now=utcnow())


@shared_task(name="chat.tidy")
@skip_if_running
def tidy() -> None:
    renew_token(now=utcnow())
    forget_interactions(now=utcnow())
    forget_old(now=utcnow())
    ask_after_guilds(now=utcnow())
