"""A small `make chaos`: workers, database and mail server die during sending; and its counts."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import NIGHTLY
from tests.load import chaos_faults
from tests.load.chaos_run import prepared
from tests.load.chaos_verdict import OUTAGE_SECONDS, PART, Chaos, Copy, Event, Verdict, judge, timeline
from tests.services import wanted

SMALL = Chaos(letters=1500, kills=6, restarts=1, outages=1, rate=40.0, workers=2, seed=2026)
KILL, RESTART = Event("kill", 100.0, 100.1), Event("restart", 200.0, 203.0)
LATER = Copy("z", 999.0)


@NIGHTLY
@pytest.mark.postgres
def test_whatever_dies_nobody_is_missed_and_only_open_connections_double() -> None:
    with wanted(), prepared(SMALL, print) as run:
        verdict = run.verdict()
        print(verdict, run.site.log())  # noqa: T201 - shown when it fails
        assert verdict.broken() == []
        assert run.died_alone == 0


@NIGHTLY
@pytest.mark.postgres
def test_a_database_that_is_gone_without_a_word_keeps_letters_for_half_a_minute_at_most() -> None:
    with wanted(), chaos_faults.prepared(chaos_faults.FAULTS["takeover"], print) as run:
        verdict = run.verdict()
        print(verdict, run.site.log())  # noqa: T201 - shown when it fails
        assert run.broken(verdict) == []
        assert run.silence() <= 30


def verdict(*copies: Copy, events: tuple[Event, ...] = (KILL, RESTART), **others: Any) -> Verdict:
    given: dict[str, Any] = {"wanted": {copy.recipient for copy in copies}, "ledger": {"sent": 3}}
    given |= {"connections": 2, "copies": copies, "events": events} | others
    return judge(**given)


def test_who_has_no_copy_was_missed() -> None:
    found = verdict(Copy("a", 1.0), LATER, wanted={"a", "b", "z"})
    assert (found.lost, found.doubled) == (1, 0)
    assert found.broken() == ["1 lost"]


def test_a_copy_that_a_kill_made_forgotten_is_allowed() -> None:
    found = verdict(Copy("a", 99.5), Copy("a", 170.0), LATER)
    assert (found.doubled, found.unexplained, found.most_by_one) == (1, 0, 1)
    assert found.broken() == []


@pytest.mark.parametrize("at", [90.0, 101.5, 199.5, 202.0])
def test_a_second_copy_without_a_death_is_not(at: float) -> None:
    assert verdict(Copy("a", at), Copy("a", 300.0), LATER).broken() == ["1 doubled although nothing died"]


def test_the_copy_before_the_answer_came_is_allowed_where_the_server_takes_its_time() -> None:
    copies = (Copy("a", 95.5), Copy("a", 170.0), LATER)
    assert verdict(*copies, answers_after=3.0).broken() == []
    assert verdict(*copies).unexplained == 1


def test_what_waited_for_postgresql_may_be_forgotten_by_a_kill_soon_after() -> None:
    copies = (Copy("a", 199.5), Copy("a", 300.0), LATER)
    assert verdict(*copies, events=(RESTART, Event("kill", 205.0, 205.1))).broken() == []


def test_what_was_stopped_in_the_middle_of_a_message_may_send_it_when_it_goes_on() -> None:
    stop = Event("stop", 100.0, 200.0)
    found = verdict(Copy("a", 165.0), Copy("a", 200.3), LATER, events=(stop,))
    assert (found.doubled, found.unexplained, found.bound) == (1, 0, 2)
    assert verdict(Copy("a", 205.0), Copy("a", 210.0), LATER, events=(stop,)).unexplained == 1


def test_one_death_may_not_double_more_than_its_connections() -> None:
    copies = [Copy(name, at) for name in "abc" for at in (99.9, 170.0)]
    found = verdict(*copies, LATER, events=(KILL, Event("kill", 150.0, 150.1)))
    assert found.broken() == ["3 doubled by one death"]


def test_more_than_all_deaths_together_allow_is_said() -> None:
    copies = [Copy(name, at) for name in "abc" for at in (99.9, 170.0)]
    assert "3 doubled, 2 allowed" in verdict(*copies, LATER).broken()


def test_what_is_left_in_the_ledger_breaks_it() -> None:
    broken = verdict(LATER, ledger={"sent": 1, "deferred": 2}).broken()
    assert broken == ["left in the ledger: {'deferred': 2}"]


def test_an_event_after_the_last_letter_proves_nothing() -> None:
    assert verdict(Copy("a", 50.0)).broken() == ["not all of it fell into the run: lower the rate"]


def test_a_run_too_short_for_its_events_is_refused() -> None:
    with pytest.raises(ValueError, match="more letters"):
        timeline(Chaos(letters=1000, restarts=5, outages=3))


@given(st.integers(0, 10**6), st.integers(0, 9), st.integers(0, 5), st.integers(0, 3))
def test_a_plan_has_all_that_was_asked_for_in_order_and_in_time(
    seed: int, kills: int, restarts: int, outages: int
) -> None:
    chaos = Chaos(kills=kills, restarts=restarts, outages=outages, seed=seed)
    plan = timeline(chaos)
    assert plan == timeline(chaos) == sorted(plan)
    assert all(0 <= at <= chaos.seconds * PART for at, _ in plan)
    done = [what for _, what in plan if what != "kill"]
    assert len(plan) - len(done) == kills
    modes = [what for what in done if what in ("immediate", "fast")]
    assert modes == (["immediate", "fast"] * restarts)[:restarts]
    assert done.count("down") == done.count("up") == outages
    assert all(later == "up" for earlier, later in pairwise(done) if earlier == "down"), "never two at once"
    downs = [at for at, what in plan if what == "down"]
    ups = [at for at, what in plan if what == "up"]
    assert all(up - down == pytest.approx(OUTAGE_SECONDS) for down, up in zip(downs, ups, strict=True))
