from zoneinfo import ZoneInfo

import pytest

from channels.announcement import images_of
from delivery.rendering.facts import LETTER_WIDTH, web_address
from delivery.rendering.issue import render_issue
from delivery.rendering.page_posts import description_of, post_of
from delivery.rendering.posts import Image, LetterPost, letter_html, letter_post, picture_of
from feeds.parsing.entry import Entry, Media, Person
from feeds.parsing.pictures import beside
from reader.rules.jf2 import post_jf2
from tests.delivery.rendering.samples import NOW, entry, one

PICTURE = Media("https://i.example/a.png?x=1&y=2", "image/png", alt="A bucket")
OTHER = Media("https://i.example/b.png", "image/png")


def shown(given: Entry) -> LetterPost:
    return letter_post(
        given,
        whole=letter_html(given),
        share=50_000,
        zone=ZoneInfo("UTC"),
        archive_url="",
        newsletter_language="en",
    )


def test_a_single_image_stands_on_top() -> None:
    assert shown(entry(media=(PICTURE,))).top_image == Image(PICTURE.url, "A bucket")


@pytest.mark.parametrize("url", [PICTURE.url, PICTURE.url.replace("&", "&amp;")])
def test_an_image_in_the_content_is_not_shown_twice(url: str) -> None:
    seen = shown(entry(media=(PICTURE,), content=f'<p><img src="{url}"></p>'))
    assert (seen.top_image, seen.images) == (None, ())


def test_several_images_stand_below() -> None:
    seen = shown(entry(media=(PICTURE, OTHER)))
    assert seen.top_image is None
    assert [image.url for image in seen.images] == [PICTURE.url, OTHER.url]


def test_the_posts_own_picture_is_used_when_there_is_no_other() -> None:
    seen = shown(entry(image="https://i.example/c.png"))
    assert seen.top_image == Image("https://i.example/c.png")
    assert (
        shown(entry(image="https://i.example/c.png", content='<img src="https://i.example/d.png">')).top_image
        is None
    )


def test_other_media_are_attachments_with_type_and_size() -> None:
    (sound,) = shown(entry(media=(Media("https://i.example/one%20two.mp3", "audio/mpeg", 1024),))).attachments
    assert (sound.name, sound.detail) == ("one two.mp3", "audio/mpeg, 1.0\xa0KB")


def test_media_that_lead_nowhere_are_left_out() -> None:
    nowhere = (Media("javascript:x", "image/png"), Media("file:///etc/passwd", "audio/mpeg"))
    seen = shown(entry(media=nowhere))
    assert (seen.top_image, seen.images, seen.attachments) == (None, (), ())


@pytest.mark.parametrize(
    "url", ["javascript:alert(1)", "data:text/html,x", "//x", "http://", "http://[x", "", "/a"]
)
def test_what_is_no_web_address_is_no_link(url: str) -> None:
    assert web_address(url) == ""


def test_a_posts_text_and_its_title_each_have_a_direction() -> None:
    hebrew = "<p>שלום עולם</p>"
    for given, directions in (
        (entry(title="iPhone 17: שלום", content=hebrew), ("rtl", "rtl")),
        (entry(title="iPhone 17", content=hebrew), ("rtl", "ltr")),
        (entry(title="שלום means hello"), ("ltr", "ltr")),
        (entry(title="שלום"), ("ltr", "rtl")),
        (entry(title="Hello", language="ar"), ("ltr", "ltr")),
        (entry(title="", content="", language="ar"), ("rtl", "rtl")),
        (entry(title="שלום", content=""), ("rtl", "rtl")),
    ):
        post = shown(given)
        assert (post.direction, post.title_direction) == directions


@pytest.mark.parametrize(
    "cover",
    [
        "https://blog.example/uploads/pic.jpg",
        "http://www.blog.example/uploads/pic-scaled.jpg?w=300",
        "https://i0.wp.com/blog.example/uploads/pic-150x150.jpg?ssl=1",
    ],
)
def test_a_cover_in_another_size_than_in_the_text_is_shown_once_everywhere(cover: str) -> None:
    html = '<p><img src="https://blog.example/uploads/pic-1024x768.jpg" alt=""></p><p>Text.</p>'
    post = entry(content=html, image=cover, media=(Media(cover, "image/jpeg"), OTHER))
    letter = shown(post)
    assert letter.top_image is None
    assert [image.url for image in letter.images] == [OTHER.url]
    assert [image.url for image in post_of(post).images] == [OTHER.url]
    assert [image.url for image in images_of(post)] == [cover, OTHER.url]
    jf2 = post_jf2(post, feed=Person(), seen_at=NOW)
    assert beside([*jf2["photo"], *jf2.get("featured", [])], html) == [OTHER.url]


def test_a_small_picture_is_as_wide_as_its_feed_declares() -> None:
    small = entry(image="https://i.example/t.jpg", image_width=150)
    assert shown(small).top_image == Image("https://i.example/t.jpg", width=150)
    assert 'width="150"' in render_issue(one(small)).html
    large = entry(image="https://i.example/t.jpg", image_width=1_100)
    assert shown(large).top_image == Image("https://i.example/t.jpg", width=LETTER_WIDTH)


def test_sensitive_pictures_are_links() -> None:
    post = entry(media=(PICTURE,), image=PICTURE.url, sensitive=True)
    letter, page = shown(post), post_of(post)
    assert (letter.top_image, letter.images, page.images, picture_of(post)) == (None, (), (), "")
    assert [file.url for file in letter.attachments] == [file.url for file in page.files] == [PICTURE.url]
    assert f'<img src="{PICTURE.url}' not in render_issue(one(post)).html
    alone = shown(entry(image=PICTURE.url, sensitive=True))
    assert (alone.top_image, [file.url for file in alone.attachments]) == (None, [PICTURE.url])


def test_the_subject_and_the_preview_of_a_hidden_text_end_at_its_warning() -> None:
    html = "<p><strong>Content warning:</strong> bees</p><hr><p>They sting.</p>"
    status = entry(title="", content=html, warning="Content warning: bees")
    letter = render_issue(one(status))
    assert (letter.subject, shown(status).excerpt) == ("Content warning: bees",) * 2
    assert description_of(status) == "Content warning: bees"
    assert letter.html.count("They sting.") == 1
