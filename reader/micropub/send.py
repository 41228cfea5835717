"""Sends posts to readers' sites once. Rows are the queue.

Pictures go first, as repeating them is harmless. A row becomes SENDING before its post is sent. If the
response or the worker is lost, we ask the site for its newest posts, then the person. Nothing else sends a
post again.
"""

import logging
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.utils.translation import gettext_noop

from common.clock import utcnow
from common.db.leases import RELEASED, lease
from common.passes import TimeBudget
from common.shutdown import stopping
from reader.indieauth.client import Granted
from reader.indieauth.discovery import NotConfirmed
from reader.micropub.compositions import State
from reader.micropub.site import (
    Site,
    SiteAnswer,
    config_at,
    create,
    keep_token,
    newest_posts,
    renewed,
    site_of,
    upload,
)
from reader.models import Composition, Photo, Reader
from reader.rules.micropub import Said, find_posted, next_look_up, next_try

log = logging.getLogger(__name__)

SENT_AT_ONCE = 4
LOOKED_THROUGH = 50
# Longer than renewal, configuration, four pictures and the post.
SEND_LEASE = timedelta(minutes=5)
NOT_CONNECTED = gettext_noop("Your site isn’t connected. Connect it, and send the post again.")
UNFORESEEN = gettext_noop("Sending failed with an unexpected error.")
LOST = gettext_noop("Your site’s response was lost.")


@dataclass(frozen=True, slots=True)
class Job:
    row: Composition
    reader: Reader
    site: Site | None
    said: Said
    pictures: tuple[Photo, ...] = ()


@dataclass(frozen=True, slots=True)
class Prepared:
    """Results before the post is sent; a `refusal` prevents that."""

    site: Site | None = None
    granted: Granted | None = None
    urls: dict[int, str] = field(default_factory=dict)
    refusal: SiteAnswer | None = None


def send_due(*, clock: Callable[[], datetime] = utcnow, budget: timedelta | None = None) -> int:
    left, done = TimeBudget(budget), 0
    with ThreadPoolExecutor(SENT_AT_ONCE, thread_name_prefix="compose") as pool:
        while not left.is_spent and not stopping.is_set():
            jobs = claimed_jobs(clock())
            if not jobs:
                break
            unsure = [job for job in jobs if job.row.state == State.UNSURE]
            for job, items in zip(unsure, pool.map(_listed, unsure), strict=True):
                record_look_up(job=job, items=items, now=clock())
            waiting = [job for job in jobs if job.row.state == State.WAITING]
            prepared = list(pool.map(lambda job: _prepared(job, clock()), waiting))
            ready = [
                ready_job
                for job, outcome in zip(waiting, prepared, strict=True)
                if (ready_job := mark_sending(job=job, prepared=outcome, now=clock()))
            ]
            for job, answer in zip(ready, pool.map(_created, ready), strict=True):
                record_answer(job=job, answer=answer, now=clock())
            done += len(jobs)
    return done


@transaction.atomic
def claimed_jobs(now: datetime) -> list[Job]:
    """Lease due compositions, one per reader: this keeps their order, and renews a token once."""
    due = Composition.objects.due(now).order_by("due_at", "pk")
    wanted = set(due.values_list("reader", flat=True)[:LOOKED_THROUGH])
    leased = Composition.objects.filter(reader__in=wanted, lease_until__gte=now)
    busy = set(leased.values_list("reader", flat=True))
    readers = Reader.objects.select_for_update(no_key=True, skip_locked=True)
    free = set(readers.filter(pk__in=wanted - busy).values_list("pk", flat=True))
    rows: dict[int, Composition] = {}
    for row in due.filter(reader__in=free).select_for_update(skip_locked=True)[:LOOKED_THROUGH]:
        rows.setdefault(row.reader_id, row)
    chosen, (token, until) = list(rows.values())[:SENT_AT_ONCE], lease(now, SEND_LEASE)
    for row in chosen:
        row.lease_token, row.lease_until = token, until
        if row.state == State.WAITING:
            row.attempts += 1
        elif row.state == State.SENDING:
            # The sender died before the response.
            row.state, row.problem, row.attempts = State.UNSURE, LOST, 0
        row.save(update_fields=["lease_token", "lease_until", "state", "problem", "attempts"])
    return [
        Job(row, row.reader, site_of(row.reader), Said.from_json(row.said), tuple(row.photos.all()))
        for row in chosen
    ]


def _prepared(job: Job, now: datetime) -> Prepared:
    """Renew the token and upload pictures, in a thread."""
    if job.site is None:
        return Prepared(refusal=SiteAnswer("refused", problem=NOT_CONNECTED))
    try:
        granted = renewed(job.reader, now=now)
    except NotConfirmed as error:
        return Prepared(refusal=SiteAnswer("refused", problem=str(error)))
    site = replace(job.site, token=granted.token) if granted else job.site
    missing = [picture for picture in job.pictures if not picture.url]
    media = config_at(site).media if missing else ""
    urls: dict[int, str] = {}
    for picture in missing if media else ():
        answer = upload(site, media, picture)
        if answer.verdict != "posted":
            # Nothing was posted yet: uploading again is harmless.
            verdict = "refused" if answer.verdict == "refused" else "later"
            return Prepared(site, granted, urls, replace(answer, verdict=verdict))
        urls[picture.pk] = answer.location
    return Prepared(site, granted, urls)


def mark_sending(*, job: Job, prepared: Prepared, now: datetime) -> Job | None:
    """Store the results and mark the post SENDING. Return None if it must not be sent."""
    if prepared.granted is not None:
        keep_token(reader=job.reader, granted=prepared.granted)
    with transaction.atomic():
        row = _ours(job)
        if row is None:
            return None
        for pk, url in prepared.urls.items():
            Photo.objects.filter(pk=pk).update(url=url)
        if prepared.refusal is None:
            row.become(state=State.SENDING, asked_at=now)
    if prepared.refusal is not None:
        record_answer(job=job, answer=prepared.refusal, now=now)
        return None
    for picture in job.pictures:
        picture.url = prepared.urls.get(picture.pk, picture.url)
    return replace(job, row=row, site=prepared.site)


def _created(job: Job) -> SiteAnswer:
    if job.site is None:
        return SiteAnswer("refused", problem=NOT_CONNECTED)
    try:
        return create(job.site, job.said, job.pictures)
    except Exception:
        log.exception("could not send a post", extra={"composition": job.row.pk})
        return SiteAnswer("unsure", problem=UNFORESEEN)


@transaction.atomic
def record_answer(*, job: Job, answer: SiteAnswer, now: datetime) -> None:
    """Store the result; "posted" counts even after the lease."""
    row = Composition.objects.select_for_update().filter(pk=job.row.pk).first()
    if row is None or (row.lease_token != job.row.lease_token and answer.verdict != "posted"):
        return
    changes = {"problem": answer.problem, "due_at": None, **RELEASED}
    match answer.verdict:
        case "posted":
            row.become(state=State.POSTED, location=answer.location, **changes)
            row.photos.update(data=b"")
        case "later" if wait := next_try(row.attempts, wish=answer.wait):
            row.become(**{**changes, "state": State.WAITING, "due_at": now + wait})
        case "unsure":
            wait = next_look_up(0)
            row.become(
                **{**changes, "state": State.UNSURE, "attempts": 0, "due_at": now + wait if wait else None}
            )
        case _:
            row.become(state=State.REFUSED, **changes)


def _listed(job: Job) -> list[Any] | None:
    """Runs in a thread."""
    try:
        return newest_posts(job.site) if job.site else None
    except Exception:
        log.exception("could not read the newest posts of a site", extra={"composition": job.row.pk})
        return None


@transaction.atomic
def record_look_up(*, job: Job, items: Sequence[Any] | None, now: datetime) -> None:
    row = _ours(job)
    if row is None:
        return
    location = find_posted(items or (), job.said, since=row.asked_at or row.made_at)
    if location is not None:
        row.become(state=State.POSTED, location=location, problem="", due_at=None, **RELEASED)
        row.photos.update(data=b"")
        return
    row.attempts += 1
    wait = next_look_up(row.attempts)
    row.become(attempts=row.attempts, due_at=now + wait if wait else None, **RELEASED)


def _ours(job: Job) -> Composition | None:
    rows = Composition.objects.select_for_update()
    return rows.filter(pk=job.row.pk, lease_token=job.row.lease_token).first()
