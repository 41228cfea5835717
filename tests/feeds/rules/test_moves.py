"""Any move (every id and link changed by one rule) mails no post twice and loses no new one."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from feeds.parsing.identity import link_hash
from feeds.parsing.likeness import likeness
from feeds.rules.facts import Document, Seen
from tests.examples import examples
from tests.feeds.rules.blog import START, Rows, a_feed

DAY = timedelta(days=1)
WAYS: Mapping[str, Callable[[str], str]] = {
    "domain": lambda url: url.replace("blog.example", "other.example"),
    "http": lambda url: url.replace("https:", "http:"),
    "www": lambda url: url.replace("//", "//www."),
    "slash": lambda url: f"{url}/",
    "html": lambda url: f"{url}.html",
    "folder": lambda url: url.replace(".example/", ".example/blog/"),
    "query": lambda url: url.replace(".example/", ".example/?p="),
    "session": lambda url: f"{url}?sid=1",
    "numbers": lambda url: f"https://blog.example/{sum(url.encode())}-{len(url)}-{hash(url)}",
}


@dataclass(frozen=True)
class Post:
    name: str
    guid: str
    link: str
    published: datetime | None

    @property
    def seen(self) -> Seen:
        return Seen(
            self.name, self.published, link_hash(self.link), like=likeness(f"Title {self.name}", self.link)
        )


def post(number: int, published: datetime | None) -> Post:
    url = f"https://blog.example/post{number}"
    return Post(str(number), url, url, published)


def document(posts: list[Post], *, appends: bool) -> Document:
    order = [one.guid for one in posts]
    entries = {one.guid: one.seen for one in posts}
    return Document(tuple(reversed(order) if appends else order), entries)


@st.composite
def stories(draw: st.DrawFn) -> tuple[list[Post], list[Post], list[Post], bool, bool]:
    """Draw the posts at the adding, before the move, and from the move on; newest first."""
    count = draw(st.integers(1, 100))
    is_dated = draw(st.booleans())
    # Without dates nothing shows that the newest is last.
    appends = is_dated and draw(st.booleans())

    def made(numbers: range, since: datetime, step: timedelta) -> list[Post]:
        found = [
            post(number, since + step * place if is_dated else None) for place, number in enumerate(numbers)
        ]
        return found[::-1]

    before = made(range(count), START - (count + 1) * DAY, DAY)
    fresh = made(
        range(200, 200 + draw(st.integers(0, 3))), START + timedelta(minutes=5), timedelta(minutes=1)
    )
    late = made(range(300, 300 + draw(st.integers(0, 3))), START + timedelta(hours=9), timedelta(minutes=1))
    return before, fresh, late, is_dated, appends


@settings(max_examples=examples(300))
@given(
    stories(),
    st.sampled_from(sorted(WAYS)),
    st.sampled_from(("both", "guid", "link")),
    st.booleans(),
    st.sampled_from((5, 45)),
)
def test_a_move_mails_no_post_twice_and_loses_no_new_one(
    story: tuple[list[Post], list[Post], list[Post], bool, bool],
    way: str,
    what: str,
    comes_with_the_move: bool,
    minutes: int,
) -> None:
    before, fresh, late, is_dated, appends = story
    window = len(before)
    rows, mailed = Rows(a_feed()), Counter[str]()

    def read(posts: list[Post], moment: datetime) -> None:
        shown = document(posts[:window], appends=appends)
        rows.apply(rows.plan(shown, moment), shown, moment)
        for row in rows.unassigned():
            if row.final_at:
                mailed[names[row.guid_hash]] += 1
                rows.change(row.pk, state="cleared", content_hash="")

    change = WAYS[way]
    guids = {one.guid: change(one.guid) if what != "link" else one.guid for one in [*before, *fresh, *late]}

    def moved(one: Post) -> Post:
        return replace(one, guid=guids[one.guid], link=change(one.link) if what != "guid" else one.link)

    names = {one.guid: one.name for one in [*before, *fresh, *late]}
    names |= {moved(one).guid: one.name for one in [*before, *fresh, *late]}
    now = START
    read(before, now)
    for step in (10, 20, minutes):
        read([*fresh, *before], now := now + timedelta(minutes=step))
    now = START + timedelta(hours=10)
    if not comes_with_the_move:
        read([moved(one) for one in [*fresh, *before]], now)
        now += timedelta(minutes=10)
    for step in (0, 20, 20, 20):
        read([moved(one) for one in [*late, *fresh, *before]], now := now + timedelta(minutes=step))
    held = Counter(names[row.guid_hash] for row in rows.held())
    assert not [name for name, times in mailed.items() if times > 1], "no post is mailed twice"
    assert not set(mailed) & {one.name for one in before}, "what was there at the adding is not mailed"
    new = [one.name for one in [*fresh[:window], *late[:window]]]
    assert not set(new) - set(mailed) - set(held), "no new post is lost"
    if is_dated:
        assert not held, "a title and a date tell every post"
