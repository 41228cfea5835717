"""Claims rows lane by lane, makes their letters and hands them over.

Runs in a thread with its own database connection, so that recording never waits for it.
"""

import logging
import time
import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from queue import Empty, SimpleQueue

from django.db import DatabaseError, InterfaceError

from channels import channel
from channels.base import Permanent, Temporary
from channels.letter import Recipient
from common.clock import utcnow
from common.db.outage import DB_ERRORS
from common.shutdown import stopping
from delivery.accounts.accounts import facts_of
from delivery.accounts.dkim_keys import SigningKeys
from delivery.bridges.connect import why_unconnected
from delivery.bridges.corrections import NotNeeded, SentPost, change_of
from delivery.engine.async_sender import AsyncSender
from delivery.engine.child_client import (
    ChildProcess,
    ChildThread,
    Client,
    keep_child_process,
    take_child_process,
)
from delivery.engine.child_protocol import Narrowed, Permit, Recall
from delivery.engine.claim import MOST_AT_ONCE, claim_due, has_much, has_urgent, with_due
from delivery.engine.send_task import ClaimedDelivery, Done, LaneSender, PreparedLetter, SendTask
from delivery.engine.thread_sender import ThreadSender
from delivery.issues.own_code import recipient_params
from delivery.lanes.lanes import in_turn
from delivery.lanes.shares import leave_shares, narrow_lane, take_share
from delivery.letters.build import issue_letter, mail_letter
from delivery.letters.notices import take_notices
from delivery.letters.samples import NothingToShow
from delivery.models import Delivery, Issue, Lane, RemotePost
from delivery.rules.limits import EXPECTED_RATE, PROOF, claimable
from subscriptions.hooks import Recipient as HookRecipient
from subscriptions.links import manage_url_for, unsubscribe_url_for

log = logging.getLogger(__name__)

RENEW_SHARE = 1.5
WAIT_FOR_SHARE = timedelta(seconds=1)
# In groups, so that the first go out while the rest is made.
HANDED_OVER_TOGETHER = 50
# Over all lanes; a wider lane is cut to this.
MOST_OPEN_CONNECTIONS = 200
RATE_KNOWN_AFTER = 100


@dataclass(eq=False)
class PooledLane:
    """A lane's sender and workload. One thread counts claimed rows, another ended ones."""

    sender: LaneSender
    # Reports of servers that accepted fewer connections.
    narrowed: SimpleQueue[Narrowed]
    claimed: int = 0
    ended: int = 0
    opened_at: float = field(default_factory=time.monotonic)
    # `ended` when it got its present width.
    ended_before: int = 0
    # Whether the last claim returned rows.
    more: bool = False

    @property
    def outstanding(self) -> int:
        return self.claimed - self.ended

    @property
    def rate(self) -> float:
        """Messages per second and connection, measured once there are enough."""
        seen = self.ended / max(time.monotonic() - self.opened_at, 0.001) / self.sender.width
        return max(seen, EXPECTED_RATE) if self.ended >= RATE_KNOWN_AFTER else EXPECTED_RATE

    @property
    def goes_well(self) -> bool:
        """Whether all of its connections were used since they are so many."""
        is_proved = self.ended - self.ended_before >= PROOF * self.sender.width
        return is_proved and not self.sender.stopped and self.outstanding > self.sender.width

    @property
    def is_full(self) -> bool:
        """Whether there is more to do than a claim takes time."""
        most = min(claimable(self.sender.width, expected=self.rate) * 2 // 3, MOST_AT_ONCE)
        return self.outstanding > max(2 * self.sender.width, most)


class LanePool:
    def __init__(self, *, permit: Permit, done: Done, clock: Callable[[], datetime]) -> None:
        self._permit, self._done, self._clock = permit, done, clock
        self.lanes: dict[int, PooledLane] = {}
        self._leaving: list[PooledLane] = []
        self._thread: ChildThread | None = None
        self._process: ChildProcess | None = None

    @property
    def is_broken(self) -> bool:
        return self._process is not None and not self._process.is_alive

    def open(self, lane: Lane, width: int, now: datetime) -> PooledLane | None:
        """Return the lane's sender, or None while too many other connections are open."""
        known = self.lanes.get(lane.pk)
        if known is not None:
            if known.sender.width != max(width, 1):
                known.ended_before = known.ended
            known.sender.resize(max(width, 1))
            return known if width else None
        if not width:
            return None
        free = MOST_OPEN_CONNECTIONS - sum(other.sender.width for other in self.lanes.values())
        if free < width:
            # At once, or a pass with nothing in flight would end while this lane has something to send.
            free += self._close_idle()
        if free < width:
            return None
        made = self.lanes[lane.pk] = self._opened(lane, width, now)
        return made

    def tell(self) -> None:
        self._tell(self._permit)

    def recall(self, issues: frozenset[int]) -> None:
        self._tell(Recall(issues))

    def _tell(self, message: Permit | Recall) -> None:
        for child in (self._thread, self._process):
            if child is not None:
                child.say(message)
        for lane in list(self.lanes.values()):
            lane.sender.sweep()

    def cut_off(self) -> None:
        """Do not wait for servers."""
        for lane in list(self.lanes.values()):
            lane.sender.cut_off()

    def close(self) -> None:
        """Wait a little for goodbyes. Nothing may be outstanding."""
        self._close_idle()
        for lane in self._leaving:
            lane.sender.join()
        if self._thread is not None:
            self._thread.close()
        if self._process is not None:
            keep_child_process(self._process)

    def _close_idle(self) -> int:
        idle = [(pk, lane) for pk, lane in list(self.lanes.items()) if not lane.outstanding]
        for pk, lane in idle:
            lane.sender.leave()
            self._leaving.append(self.lanes.pop(pk))
        return sum(lane.sender.width for _, lane in idle)

    def _opened(self, lane: Lane, width: int, now: datetime) -> PooledLane:
        ours = channel(lane.kind)
        facts = facts_of(lane)
        narrowed: SimpleQueue[Narrowed] = SimpleQueue()
        done, clock = self._done, self._clock
        open_session = ours.sessions(facts)
        if open_session is None:
            sender: LaneSender = ThreadSender(facts, ours, width, permit=self._permit, done=done, clock=clock)
        else:
            child = self._child(is_process=clock is utcnow and has_much(lane, now))
            sender = AsyncSender(child, open_session, width, done=done, on_narrow=narrowed.put, clock=clock)
        return PooledLane(sender, narrowed)

    def _child(self, *, is_process: bool) -> Client:
        # Kept before use: a pass that finishes meanwhile has to notify it.
        if not is_process:
            if self._thread is None:
                self._thread = ChildThread(self._clock)
                self._thread.say(self._permit)
            return self._thread
        if self._process is None:
            self._process = take_child_process()
            self._process.begin_pass(self._permit)
        return self._process


class Claimer:
    """Not thread-safe: one thread at a time calls `look`."""

    def __init__(
        self,
        *,
        pool: LanePool,
        permit: Permit,
        in_flight: set[SendTask],
        done: Done,
        clock: Callable[[], datetime],
    ) -> None:
        self._pool, self._permit, self._clock = pool, permit, clock
        self._in_flight, self._done = in_flight, done
        self._letters = LetterCache()
        self._holder = uuid.uuid4()
        # By lane: the number of our connections, and since when.
        self._shares: dict[int, tuple[int, float]] = {}

    def forget_letters(self) -> None:
        """Make each letter anew: its sources may have changed."""
        self._letters = LetterCache()

    def look(self) -> datetime | None:
        """Return when to look again, if a lane said so."""
        now = self._clock()
        take_notices(now=now)
        self.narrow()
        # Includes lanes with nothing due, as their connections are open.
        for lane_id, (mine, asked_at) in list(self._shares.items()):
            if mine and time.monotonic() - asked_at >= RENEW_SHARE:
                self._ask_for_share(lane_id, now)
        waits = []
        for lane in in_turn(with_due(now).order_by("pk"), now):
            try:
                if again_at := self._top_up(lane, now):
                    waits.append(again_at)
            except DB_ERRORS:
                raise
            except Exception:  # a failing lane stops no other
                log.exception("claiming failed", extra={"lane": lane.pk})
        return min(waits, default=None)

    def narrow(self) -> None:
        for lane_id, lane in list(self._pool.lanes.items()):
            news = None
            with suppress(Empty):
                while True:
                    news = lane.narrowed.get_nowait()
            if news is not None:
                took, said = news.width, news.said
                narrow_lane(lane_id, self._holder, connections=took, said=said, now=self._clock())
                self._shares[lane_id] = (took, time.monotonic())

    def close(self) -> None:
        if self._shares:
            leave_shares(self._holder)

    def _ask_for_share(self, lane_id: int, now: datetime) -> int:
        before, _ = self._shares.get(lane_id, (0, 0.0))
        known = self._pool.lanes.get(lane_id)
        still_open = max(before, known.sender.opened if known else 0)
        goes_well = known is not None and known.goes_well
        mine = take_share(lane_id, self._holder, now, still_open=still_open, goes_well=goes_well)
        self._shares[lane_id] = (mine, time.monotonic())
        return mine

    def _top_up(self, lane: Lane, now: datetime) -> datetime | None:
        """Return when to ask again, if that helps."""
        width = 1
        # A serial lane follows its own order.
        if not lane.serial:
            mine, asked_at = self._shares.get(lane.pk, (0, -RENEW_SHARE))
            known = self._pool.lanes.get(lane.pk)
            may_grow = lane.grown is not None and known is not None and known.goes_well
            if not mine or may_grow or time.monotonic() - asked_at >= RENEW_SHARE:
                mine = self._ask_for_share(lane.pk, now)
            width = min(mine, MOST_OPEN_CONNECTIONS)
        open_lane = self._pool.open(lane, width, now)
        if not width:  # other workers release some when they see that we wait
            return now + WAIT_FOR_SHARE
        if open_lane is None:
            return None
        sender, is_full = open_lane.sender, open_lane.is_full
        # Ask a stopped lane again once its tasks are settled and its rest is known.
        if (sender.stopped and open_lane.outstanding) or (is_full and not has_urgent(lane, now)):
            return None
        sender.resume()
        in_flight = open_lane.outstanding
        if is_full:
            rows = (task.delivery for task in list(self._in_flight))
            in_flight = sum(row.lane.pk == lane.pk and row.priority < Delivery.Priority.ISSUE for row in rows)
        claimed = claim_due(
            lane_id=lane.pk,
            now=now,
            in_flight=in_flight,
            urgent=is_full,
            connections=sender.width,
            expected=open_lane.rate,
        )
        tasks = [SendTask(row) for row in claimed.rows]
        if lane.serial and tasks:
            posts = RemotePost.objects.filter(pk__in=[task.pk for task in tasks])
            progress = dict(posts.values_list("pk", "progress"))
            for task in tasks:
                task.progress = progress.get(task.pk, {})
        open_lane.more = bool(tasks)
        open_lane.claimed += len(tasks)
        self._in_flight.update(tasks)
        self._hand_over(open_lane, tasks)
        return claimed.again_at

    def _hand_over(self, open_lane: PooledLane, tasks: Sequence[SendTask]) -> None:
        left = list(tasks)
        try:
            while left:
                ready: list[SendTask] = []
                unmade: list[SendTask] = []
                for task in left[:HANDED_OVER_TOGETHER]:
                    if not (self._permit.is_finishing or stopping.is_set() or task.recalled):
                        self._prepare(task)
                    (ready if task.prepared else unmade).append(task)
                # Before the sender reports outcomes itself.
                left = left[HANDED_OVER_TOGETHER:]
                self._done.put(unmade)
                for task in ready:
                    task.is_carried = True
                if ready:
                    open_lane.sender.put(ready)
        except BaseException:
            self._done.put(left)
            raise

    def _prepare(self, task: SendTask) -> None:
        now = self._clock()
        try:
            if task.delivery.kind in Delivery.CHANGES:
                change = self._letters.prepare_change(task.delivery)
                task.prepared, task.recipient, task.changes = change
            else:
                task.prepared, task.recipient = self._letters.prepare(task.delivery, now=now)
        except DB_ERRORS:
            raise
        except NotNeeded as error:
            task.outcome, task.at = Permanent(str(error), needless=True), now
        except NothingToShow as error:
            task.outcome, task.at = Permanent(str(error)), now
        except Unconnected as error:
            task.outcome, task.at = Temporary(str(error), stops_lane=True, forbidden=True), now
        except Exception as error:  # an error in one message must not stop the others
            log.exception("a message cannot be made", extra={"delivery": task.pk})
            task.outcome, task.at = Temporary(f"The message cannot be made: {error}"), now


class Unconnected(Exception):
    """The destination has no credentials yet, as after an import without secrets."""


class LetterCache:
    """Bounded cache: a pass sends few issues at a time."""

    LIMIT = 20

    def __init__(self) -> None:
        # By issue, version and channel, as a newsletter may also go to devices. Failures are kept, too, so
        # that they are not repeated for every recipient.
        self._issues: dict[tuple[int, int, str], PreparedLetter | Exception] = {}
        self._keys = SigningKeys()

    def prepare(self, row: ClaimedDelivery, *, now: datetime) -> tuple[PreparedLetter, Recipient]:
        """Raise what rendering raises.

        Also raises HookError of the newsletter's own code, ValueError for an unreadable stored secret, and
        Unconnected.
        """
        if row.issue_id is None:
            rows = Delivery.objects.select_related("destination", "subscription__subscribable")
            mail = rows.get(pk=row.pk)
            newsletter = mail.subscription.subscribable if mail.subscription else None
            ask = recipient_params(newsletter) if newsletter else None
            made = PreparedLetter(mail_letter(mail, now=now), ask)
        else:
            made = self._issue(row.issue_id, row.version, row.lane.kind)
        keys = self._keys.of(made.letter.from_email) if row.destination.kind == "email" else ()
        if made.compose is None or made.letter.signing_keys != keys:
            letter = replace(made.letter, signing_keys=keys, has_own_code=made.ask is not None)
            made = PreparedLetter(letter, made.ask, channel(row.lane.kind).composer(letter))
            if row.issue_id is not None:
                self._issues[row.issue_id, row.version, row.lane.kind] = made
        recipient = recipient_of(row)
        if made.ask is not None:
            reader = HookRecipient(
                address=recipient.label,
                name=recipient.name,
                unsubscribe_url=recipient.unsubscribe_url,
                manage_url=recipient.manage_url,
            )
            recipient = recipient._replace(params=made.ask(reader))
        return made, recipient

    def prepare_change(self, row: ClaimedDelivery) -> tuple[PreparedLetter, Recipient, SentPost]:
        """Raise NotNeeded, LetterError, Unconnected, or ValueError for an unreadable secret."""
        change, recipient = change_of(row.pk), recipient_of(row)
        change.refuse_same(recipient, kind=row.lane.kind)
        composer = channel(row.lane.kind).composer(change.letter)
        return PreparedLetter(change.letter, None, composer), recipient, change.sent

    def _issue(self, issue_id: int, version: int, kind: str) -> PreparedLetter:
        """Return the cached letter or make it. Raises what making it raised."""
        known = self._issues.get((issue_id, version, kind))
        if known is None:
            if len(self._issues) >= self.LIMIT:
                self._issues.clear()
            issue = Issue.objects.select_related("subscribable").get(pk=issue_id)
            try:
                known = PreparedLetter(issue_letter(issue, version), recipient_params(issue.subscribable))
            except (DatabaseError, InterfaceError):
                raise
            except Exception as error:  # noqa: BLE001 - raised for each of its recipients
                known = error
            self._issues[issue_id, version, kind] = known
        if isinstance(known, Exception):
            raise known
        return known


def recipient_of(row: ClaimedDelivery) -> Recipient:
    """Raise Unconnected, and ValueError for an unreadable stored secret."""
    reader, to = row.subscription, row.destination
    if why := why_unconnected(to.kind, to.label, to.secrets):
        raise Unconnected(why)
    return Recipient(
        delivery_id=row.pk,
        core=to.core,
        label=to.label,
        name=reader.display_name if reader else "",
        config=to.config,
        secrets=to.secrets.open(),
        unsubscribe_url=unsubscribe_url_for(reader.pk, reader.token) if reader else "",
        manage_url=manage_url_for(reader.pk, reader.token) if reader else "",
    )
