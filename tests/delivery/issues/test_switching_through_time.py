"""Random posts, a switch at a random moment, two months of time: every post is sent exactly once."""

from collections.abc import Sequence

import pytest
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from delivery.models import Delivery
from tests.delivery.two_paces import DAY, MINUTE, START, World
from tests.examples import NIGHTLY, some_now

pytestmark = [pytest.mark.django_db]

MINUTES = 31 * 24 * 60
NESTED = [
    *(("each", other) for other in ("daily", "weekly", "monthly", "three")),
    *(("daily", other) for other in ("weekly", "monthly")),
]
PAIRS = [*NESTED, *((new, old) for old, new in NESTED), ("each", "each"), ("daily", "daily")]
ASKEW = [
    ("weekly", "monthly"),
    ("monthly", "weekly"),
    ("daily at seven", "weekly at six"),
    ("weekly at six", "daily at seven"),
    ("three", "weekly"),
    ("weekly", "three"),
    ("twice a week", "daily at seven"),
    ("daily", "three"),
    ("three", "three"),
]
minutes = st.integers(1, MINUTES)
moments = st.lists(minutes, min_size=1, max_size=14, unique=True)
approvals = st.sampled_from([{}, {"approval": "delay", "approval_minutes": 600}])


def live_through(world: World, posts: Sequence[int], switch: int, *, lag: int) -> list[int]:
    """Run through time until nothing more can be sent; return the keys of all posts."""
    items = []
    world.is_reading = not lag
    for minute in sorted({*posts, switch}):
        world.until(START + minute * MINUTE)
        if minute in posts:
            items.append(world.post(settled=world.now - lag * MINUTE).pk)
        if minute == switch:
            world.switch()
        world.work()
    world.is_reading = True
    world.until(START + 63 * DAY)
    # Every-n newsletters get enough posts to fill their last issue; nobody checks these.
    for _ in range(3):
        world.post()
        world.work()
    world.until(START + 95 * DAY)
    return items


def how_often(
    old: str, new: str, posts: list[int], switch: int, facts: dict[str, object], *, lag: int = 0
) -> list[int]:
    """Return how often each post was received, in a world that is rolled back afterwards."""
    with transaction.atomic():
        world = World(old, new, **facts)
        items = live_through(world, posts, switch, lag=lag)
        received = world.received()
        assert world.reload().status == "unsubscribed"
        assert (world.joined.status, world.joined.receives_from) == ("confirmed", None)
        assert not Delivery.objects.exclude(state="sent").exists()
        transaction.set_rollback(True)
    return [received[pk] for pk in items]


@NIGHTLY
@settings(max_examples=8, suppress_health_check=list(HealthCheck))
@given(pair=st.sampled_from(PAIRS), posts=moments, switch=minutes, facts=approvals)
def test_every_post_comes_exactly_once(
    pair: tuple[str, str], posts: list[int], switch: int, facts: dict[str, object]
) -> None:
    assert how_often(*pair, posts, switch, facts) == [1] * len(posts)


@NIGHTLY
@settings(max_examples=7, suppress_health_check=list(HealthCheck))
@given(pair=st.sampled_from(ASKEW), posts=moments, switch=minutes, facts=approvals)
def test_where_letters_are_cut_at_different_times_no_post_is_lost(
    pair: tuple[str, str], posts: list[int], switch: int, facts: dict[str, object]
) -> None:
    assert set(how_often(*pair, posts, switch, facts)) <= {1, 2}


@NIGHTLY
@settings(max_examples=8, suppress_health_check=list(HealthCheck))
@given(pair=st.sampled_from(PAIRS + ASKEW), posts=moments, switch=minutes, lag=st.integers(1, 4000))
def test_no_post_is_lost_when_a_feed_was_not_read_for_days(
    pair: tuple[str, str], posts: list[int], switch: int, lag: int
) -> None:
    assert set(how_often(*pair, posts, switch, {}, lag=lag)) <= {1, 2}


@pytest.mark.parametrize(("old", "new"), some_now(PAIRS))
def test_a_switch_in_the_midst_of_posts_neither_loses_nor_repeats_one(old: str, new: str) -> None:
    day = 24 * 60
    posts = [5 * day, 7 * day + 11 * 60, 7 * day + 13 * 60, 11 * day + 30, 31 * day - 40]
    assert how_often(old, new, posts, 7 * day + 12 * 60, {}) == [1] * 5
