"""What is held for an admin: the panel on a feed's page, the two answers, and their sentences."""

from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString

from common.admin.html import html_table, link_to, list_link, when
from common.clock import utcnow
from common.text import pluralize
from feeds.items.held import exclude_held, release
from feeds.models import Feed, Item
from feeds.rules.finality import MORE_THAN, RESTORED, SENT_ELSEWHERE

HELD_SHOWN = 10
WHY_RESTORED = (
    "A backup was restored: what came between the backup and the restore may have been sent already. So none "
    "of these is sent until you say so."
)
WHY_ELSEWHERE_IS_HELD = (
    "Another program read this feed before, and may have sent these already: their dates do not say that "
    "they came later. So none of these is sent until you say so."
)
WHY_FLOODS_ARE_HELD = (
    f"One reading of this feed brought more than {MORE_THAN} new posts, and more new ones than old. That is "
    "seldom a busy day: the blog may have moved, or given all its posts new ids. So none of these is sent "
    "until you say so. If you send all of them, the next ones are not held."
)
ASK_AGAIN = "To be asked again, switch “hold floods” off, save, and switch it on."


def held(feed: Feed) -> SafeString | str:
    """How many posts are held, since when and why. Nothing when there are none."""
    if feed.held_since is None:
        return ""
    items = Item.objects.held().filter(feed=feed)
    count = items.count()
    if not count:
        return ""
    are = "is" if count == 1 else "are"
    said = f"{pluralize(count, 'post')} {are} held since {when(feed.held_since)}."
    shown = items.defer("entry").order_by("-published_at", "-pk")[:HELD_SHOWN]
    rows = ((link_to(item), when(item.published_at)) for item in shown)
    whys = {RESTORED: WHY_RESTORED, SENT_ELSEWHERE: WHY_ELSEWHERE_IS_HELD}
    reason = items.filter(reason__in=whys).values_list("reason", flat=True).first() or ""
    decide = f"See all {count:,}, and decide on each" if count > HELD_SHOWN else "Decide on each"
    return format_html(
        '<p class="fl-sentence"><strong>{}</strong> {}</p>{}<p>{}</p>',
        said,
        whys.get(reason, WHY_FLOODS_ARE_HELD),
        html_table(("post", "published"), rows),
        list_link(Item, decide, feed__id__exact=feed.pk, held="yes"),
    )


def holds_posts(feed: Feed) -> bool:
    return feed.held_since is not None


def send_all(request: HttpRequest, keys: list[int]) -> str:
    return released(release(feed_ids=keys, now=utcnow()))


def send_none(request: HttpRequest, keys: list[int]) -> str:
    return dropped(exclude_held(feed_ids=keys, now=utcnow()))


def what_sending_none_does(keys: list[int]) -> list[str]:
    return what_not_sending_does(Item.objects.held().filter(feed__in=keys).count())


def released(count: int, of: int = 0) -> str:
    """The sentence after letting go."""
    said = f"{pluralize(count, 'post')} will be sent, each once it has settled."
    return said + _not_held(of - count)


def dropped(count: int, of: int = 0) -> str:
    """The sentence after excluding."""
    said = f"{pluralize(count, 'post')} will not be sent."
    return said + _not_held(of - count)


def _not_held(others: int) -> str:
    if others <= 0:
        return ""
    return (
        f" {pluralize(others, 'other')} {'was' if others == 1 else 'were'} not held: nothing changed there."
    )


def what_not_sending_does(count: int) -> list[str]:
    """What the page says before it is done."""
    return [
        f"{pluralize(count, 'held post')} will not be sent to anybody.",
        "As long as a post stands in its feed, you can still send it: open it and choose “Send after all”.",
    ]
