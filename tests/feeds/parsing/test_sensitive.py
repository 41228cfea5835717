"""Sensitive posts in the profile feeds of fediverse servers."""

import pytest

from feeds.parsing.document import parse
from feeds.parsing.entry import Entry

RSS = (
    "<rss version='2.0' xmlns:media='http://search.yahoo.com/mrss/'><channel><title>t</title><item>"
    "<guid>1</guid><link>{link}</link><description>{text}</description>{media}</item></channel></rss>"
)
MEDIA = (
    "<media:content url='https://files.example/media_attachments/files/1/original/a.png' type='image/png'"
    " medium='image'><media:rating scheme='urn:simple'>{rating}</media:rating>"
    "<media:description type='plain'>A bee</media:description>"
    "<media:thumbnail url='https://files.example/media_attachments/files/1/small/a.png'/></media:content>"
)


def status(text: str, link: str = "https://social.example/@ada/1", media: str = "") -> Entry:
    escaped = text.replace("&", "&amp;").replace("<", "&lt;")
    document = RSS.format(link=link, text=escaped, media=media)
    (entry,) = parse(document.encode(), content_type="", url="https://social.example/@ada.rss").entries
    return entry


def test_a_picture_rated_for_adults_is_sensitive() -> None:
    assert status("<p>x</p>", media=MEDIA.format(rating="adult")).sensitive
    entry = status("<p>x</p>", media=MEDIA.format(rating="nonadult"))
    assert not entry.sensitive
    assert [medium.alt for medium in entry.media] == ["A bee"]
    # One of several is enough.
    assert status("x", media=MEDIA.format(rating="adult") + MEDIA.format(rating="nonadult")).sensitive


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        ("<p><strong>Avis :</strong>bees &amp; wasps</p><hr /><p>They sting.</p>", "Avis : bees & wasps"),
        ("<p><strong>Inhaltswarnung:</strong> Bienen</p><hr><p>Sie stechen.</p>", "Inhaltswarnung: Bienen"),
        ("<p>bees</p><hr/><p>They sting.</p>", "bees"),
        ("<p>They sting.</p><p>bees</p><hr>", ""),
        ("<p>They sting.</p>", ""),
    ],
)
def test_a_content_warning_ends_where_the_hidden_text_begins(text: str, warning: str) -> None:
    assert status(text).warning == warning


def test_the_line_below_a_blogs_first_paragraph_hides_nothing() -> None:
    assert status("<p>Hello.</p><hr><p>More.</p>", link="https://blog.example/1").warning == ""
