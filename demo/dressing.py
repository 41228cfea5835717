"""The demo's publication: its name, logo and looks, an editor's emails, and a feed that fails."""

import io
from collections.abc import Iterable
from datetime import datetime, timedelta

from common.pictures.codec import clean_picture
from common.pictures.picture import CleanPicture
from delivery.customisation import set_theme
from delivery.issues.broadcasts import begin_letter, send_letter
from delivery.issues.series import add_email, add_posts, archived_posts, emails_of, set_days, switch_on
from demo import images
from demo.newsletters import NEWSLETTERS, WEEKS_LINKS
from demo.pages import PRIVACY
from feeds.adding.add import add_feed
from feeds.models import Feed
from subscriptions.branding.brands import alter_site
from subscriptions.models import Subscribable
from subscriptions.newsletters.define import alter_subscribable

SITE_NAME, ABOUT = "Harbour Letters", "Small observations from a small harbour, by email."
ACCENT = "#0b6e6e"
FOOTER = "Written by Maren, Tom and Ines in the harbour office."
POSTAL_ADDRESS = "Harbour Office, 1 The Quay"
EDITOR = "admin"
APPROVED = "harbour-ferry"
APPROVED_FROM = timedelta(days=4)
SENT = """The lamps on the pier are lit on **Sunday at five**, and you are invited.

There will be soup from the bakery, and Tom will give a speech. It is short: we have read it.

If it rains, we light them anyway.

Maren, Tom and Ines
"""
DRAFT = """The quay is closed for two weeks, and so are we.

There will be no issue on the next two Mondays. The lamps will be lit without us.

> If you find a blue rowing boat: it answers to *Margit*.

Until then, [all our notes](https://harbour.example/) are on the blog.

Maren and Tom
"""
# The newsletter's series: subjects with texts, posts of the archive, and days between them.
SERIES = "harbour-weekly"
SERIES_EMAILS = {
    "Welcome to the harbour": """Good that you are here. **The Harbour Weekly** is sent on Mondays at seven, \
before the first ferry has turned around.

Three short emails follow in the next days, so that you know your way:

1. who writes to you,
2. how many boats there are,
3. and how we build another one.

Maren, Tom and Ines
""",
    "Who writes to you": """* **Maren** keeps the harbour’s books, and writes most of these notes.
* **Tom** builds a boat. It has been nearly ready for some time.
* **Ines** bakes. The office opens when the bread is done.

Gerald, a gull, doesn’t write, but he is mentioned often. All our notes are [on the blog](https://harbour.example/).
""",
}
SERIES_POSTS = ("Counting boats", "A plank at a time")
SERIES_DAYS = (0, 2, 3, 3)


def photograph(scene: str, seed: str = "header") -> CleanPicture:
    return clean_picture(io.BytesIO(images.header(scene, seed)))


def dress_site(blog_url: str) -> None:
    logo = clean_picture(io.BytesIO(images.logo()))
    alter_site(name=SITE_NAME, about=ABOUT, accent=ACCENT, logo=logo, privacy_url=f"{blog_url}{PRIVACY}")


def dress_newsletters(rows: Iterable[Subscribable]) -> None:
    looks = {newsletter.name: newsletter.look for newsletter in (*NEWSLETTERS, WEEKS_LINKS)}
    for row in rows:
        look = dict(looks[row.name])
        if scene := look.pop("scene", ""):
            look |= {"header_picture": photograph(scene), "header_picture_alt": look.pop("alt")}
        set_theme(subscribable=row, postal_address=POSTAL_ADDRESS, **{"footer": FOOTER, **look})


def add_neighbour(blog_url: str, newsletter: Subscribable, *, now: datetime) -> Feed:
    """Add the neighbours' blog, which stops answering during the last week."""
    feed = add_feed(url=f"{blog_url}/lighthouse/feed.xml", now=now)
    alter_subscribable(subscribable=newsletter, feeds=[*newsletter.feeds.all(), feed])
    return feed


def send_editors_email(newsletter: Subscribable, now: datetime) -> None:
    letter = begin_letter(
        subscribable=newsletter, author=EDITOR, now=now, subject="You’re invited", markdown=SENT
    )
    send_letter(letter_id=letter.pk, version=letter.version, now=now)


def begin_series(newsletter: Subscribable, now: datetime) -> Subscribable:
    """Let new subscribers get the emails that the editor typed."""
    for days, (subject, markdown) in zip(SERIES_DAYS, SERIES_EMAILS.items(), strict=False):
        letter = add_email(newsletter=newsletter, author=EDITOR, now=now, subject=subject, markdown=markdown)
        set_days(letter_id=letter.pk, days=days, now=now)
        switch_on(letter_id=letter.pk, version=letter.version, now=now)
    return alter_subscribable(subscribable=newsletter, welcome=Subscribable.Welcome.SERIES)


def extend_series(newsletter: Subscribable, now: datetime) -> None:
    """Add posts of the archive."""
    titles = {row.entry["title"]: row for row in archived_posts(newsletter)}
    add_posts(newsletter=newsletter, posts=[titles[title] for title in SERIES_POSTS], author=EDITOR, now=now)
    for days, letter in zip(SERIES_DAYS, emails_of(newsletter), strict=True):
        set_days(letter_id=letter.pk, days=days, now=now)


def begin_draft(newsletter: Subscribable, now: datetime) -> None:
    begin_letter(
        subscribable=newsletter, author=EDITOR, now=now, subject="We close for two weeks", markdown=DRAFT
    )


def ask_for_approval(newsletter: Subscribable) -> None:
    alter_subscribable(subscribable=newsletter, approval=Subscribable.Approval.CLICK)
