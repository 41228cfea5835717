from celery import shared_task

from common.clock import utcnow
from common.passes import PASS_BUDGET, skip_if_running
from reader.channels.opml import work_off_lists
from reader.entries.filters import ask_filters
from reader.entries.place import place_due
from reader.entries.prune import prune_entries
from reader.inbox.take import prune_mail
from reader.media.icons import look_for_icons
from reader.mentions.check import check_due
from reader.micropub.send import send_due
from reader.people.readers import erase_leavers


@shared_task(name="reader.place")
@skip_if_running
def place() -> None:
    place_due(budget=PASS_BUDGET)


@shared_task(name="reader.lists")
@skip_if_running
def lists() -> None:
    work_off_lists(budget=PASS_BUDGET)
    look_for_icons(budget=PASS_BUDGET)


@shared_task(name="reader.filters")
@skip_if_running
def filters() -> None:
    ask_filters(budget=PASS_BUDGET)


@shared_task(name="reader.prune")
@skip_if_running
def prune() -> None:
    erase_leavers(now=utcnow(), budget=PASS_BUDGET)
    prune_mail(now=utcnow())
    prune_entries(now=utcnow(), budget=PASS_BUDGET)


@shared_task(name="reader.mentions")
@skip_if_running
def mentions() -> None:
    check_due(budget=PASS_BUDGET)


@shared_task(name="reader.compose")
@skip_if_running
def compose() -> None:
    send_due(budget=PASS_BUDGET)
