"""A post has each picture and file once, in the most suitable size."""

import json

import pytest

from feeds.parsing.document import parse
from feeds.parsing.entry import Entry, Media
from feeds.parsing.pictures import beside, file_key, pictures_beside

SAME = [
    ("https://blog.example/wp-content/uploads/2026/11/pic.jpg", "http://www.blog.example/wp-content/uploads/2026/11/pic-1024x768.jpg"),
    ("https://blog.example/pic.jpg", "https://blog.example/pic-scaled.jpg"),
    ("https://blog.example/pic.jpg", "https://blog.example/pic@2x.jpg"),
    ("https://blog.example/pic.jpg", "https://blog.example/pic-300x200.jpg.webp"),
    ("https://cdn.example/s.jpg?w=1024", "https://cdn.example/s.jpg?w=300&h=200"),
    ("https://cdn.example/photo/17?w=1024&v=2", "https://cdn.example/photo/17?v=2&w=300"),
    ("https://blog.example/pic.jpg", "https://i2.wp.com/blog.example/pic-300x200.jpg?resize=300%2C200&ssl=1"),
    ("https://blog.example/a b.jpg", "https://res.cloudinary.com/x/image/fetch/w_600/https://blog.example/a%20b.jpg"),
    ("https://res.cloudinary.com/x/image/upload/v1/a.jpg", "https://res.cloudinary.com/x/image/upload/c_fill,w_300/v1/a.jpg"),
    (
        "https://bucket.s3.amazonaws.com/public/images/1_2x3.png",
        "https://substackcdn.com/image/fetch/$s_!x!,w_1456,c_limit,f_auto/https%3A%2F%2Fbucket.s3.amazonaws.com%2Fpublic%2Fimages%2F1_2x3.png",
    ),
    ("https://blog.example/pic.jpg", "https://images.weserv.nl/?url=blog.example/pic.jpg&w=300"),
    ("https://blog.example/pic.jpg", "https://wsrv.nl/?url=https%3A%2F%2Fblog.example%2Fpic.jpg"),
    ("https://blog.example/pic.jpg", "https://blog.example/_next/image?url=%2Fpic.jpg&w=640&q=75"),
    ("https://blog.example/pic.jpg", "https://shop.example/_next/image?url=https%3A%2F%2Fblog.example%2Fpic.jpg&w=640"),
    ("https://blog.example/pic.jpg", "https://ci3.googleusercontent.com/proxy/AbC=s0-d-e1-ft#https://blog.example/pic.jpg"),
    ("https://blog.example/pic.jpg", "https://blog.example/cdn-cgi/image/width=80,format=auto/pic.jpg"),
    ("https://blog.example/pic.jpg", "https://external-content.duckduckgo.com/iu/?u=https%3A%2F%2Fblog.example%2Fpic.jpg"),
    ("https://1.bp.blogspot.com/-x/y/s1600/pic.jpg", "https://1.bp.blogspot.com/-x/y/w640-h480/pic.jpg"),
    ("https://lh3.googleusercontent.com/abc=s72-c", "https://lh3.googleusercontent.com/abc=w640-h480"),
    ("https://i.ytimg.com/vi/aaaaaaaaaaa/hqdefault.jpg", "https://i1.ytimg.com/vi/aaaaaaaaaaa/maxresdefault.jpg"),
    ("https://ghost.example/content/images/2026/01/p.jpg", "https://ghost.example/content/images/size/w600/2026/01/p.jpg"),
    ("https://u.example/wikipedia/commons/a/ab/X.jpg", "https://u.example/wikipedia/commons/thumb/a/ab/X.jpg/220px-X.jpg"),
    ("https://store.example/get?id=7&X-Amz-Signature=a&X-Amz-Date=1", "https://store.example/get?id=7&X-Amz-Signature=b&X-Amz-Date=2"),
    ("https://cdn.example/1.mp3?token-time=1&token-hash=a", "https://cdn.example/1.mp3?token-time=2&token-hash=b"),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other"), SAME)
def test_addresses_of_one_picture_have_one_key(one: str, other: str) -> None:
    assert file_key(one) == file_key(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("https://blog.example/2025/11/pic.jpg", "https://blog.example/2026/11/pic.jpg"),
        ("https://blog.example/pic-1.jpg", "https://blog.example/pic-2.jpg"),
        ("https://a.example/pic.jpg", "https://b.example/pic.jpg"),
        ("https://blog.example/get.php?id=1", "https://blog.example/get.php?id=2"),
        ("https://i.ytimg.com/vi/aaaaaaaaaaa/0.jpg", "https://i.ytimg.com/vi/bbbbbbbbbbb/0.jpg"),
        ("https://wsrv.nl/?url=a.example/1.jpg", "https://wsrv.nl/?url=a.example/2.jpg"),
    ],
)
def test_different_pictures_have_different_keys(one: str, other: str) -> None:
    assert file_key(one) != file_key(other)


@pytest.mark.parametrize(
    "url", ["", "http://[", "x" * 100_000, "https://a.example/" + "/thumb" * 5_000, "https://a.example/%"]
)
def test_any_text_has_a_key(url: str) -> None:  # fmt: skip
    assert isinstance(file_key(url), str)


def test_a_picture_of_the_text_is_not_shown_beside_it() -> None:
    html = '<p><img src="https://blog.example/pic-1024x768.jpg?a=1&amp;b=2" alt=""></p>'
    urls = ["https://blog.example/pic.jpg", "https://blog.example/other.jpg", "http://blog.example/other.jpg"]
    assert beside(urls, html) == ["https://blog.example/other.jpg"]
    entry = Entry("1", content=html, media=(Media(urls[0], "image/jpeg"), Media(urls[1], "image/jpeg")))
    assert [picture.url for picture in pictures_beside(entry)] == urls[1:2]


def read(item: str) -> Entry:
    document = (
        "<rss version='2.0' xmlns:media='http://search.yahoo.com/mrss/'><channel><title>t</title><item>"
        f"<guid>1</guid><link>https://blog.example/1</link>{item}</item></channel></rss>"
    )
    (entry,) = parse(document.encode(), content_type="", url="https://blog.example/feed").entries
    return entry


def urls_of(item: str) -> list[str]:
    return [medium.url for medium in read(item).media]


def content(name: str, **attributes: object) -> str:
    values = "".join(f" {key}='{value}'" for key, value in attributes.items())
    return f"<media:content url='https://cdn.example/{name}'{values}/>"


def test_of_a_group_one_rendition_is_taken() -> None:
    sizes = (("a.jpg", 300), ("b.jpg", 1100), ("c.jpg", 4000), ("d.jpg", 1100))
    pictures = "".join(content(name, medium="image", width=width) for name, width in sizes)
    assert urls_of(f"<media:group>{pictures}</media:group>") == ["https://cdn.example/b.jpg"]
    assert urls_of(pictures) == [f"https://cdn.example/{name}" for name, _ in sizes]
    films = (
        content("1.m3u8", type="application/x-mpegURL", bitrate=9000)
        + content("1.mp4", type="video/mp4", bitrate=300)
        + content("2.mp4", type="video/mp4", bitrate=1200)
    )
    assert urls_of(f"<media:group>{films}</media:group>") == ["https://cdn.example/2.mp4"]
    default = content("3.mp4", type="video/mp4", bitrate=1, isDefault="true")
    assert urls_of(f"<media:group>{films}{default}</media:group>") == ["https://cdn.example/3.mp4"]
    too_wide = content("a.jpg", medium="image", width=5000) + content("b.jpg", medium="image", width=2000)
    assert urls_of(f"<media:group>{too_wide}</media:group>") == ["https://cdn.example/b.jpg"]


def test_groups_are_things_by_themselves_and_a_poster_is_none_of_its_film() -> None:
    film = content("1.mp4", type="video/mp4") + content("1.jpg", medium="image")
    other = content("2.mp4", type="video/mp4") + content("3.mp4", type="video/mp4", fileSize=9)
    assert urls_of(f"<media:group>{film}</media:group><media:group>{other}</media:group>") == [
        "https://cdn.example/1.mp4",
        "https://cdn.example/1.jpg",
        "https://cdn.example/3.mp4",
    ]


def test_sizes_of_one_picture_are_one_without_a_group_too() -> None:
    sizes = "".join(content(f"5000.jpg?width={width}", width=width) for width in (140, 460, 700))
    (medium,) = read(sizes).media
    assert (medium.url, medium.type) == ("https://cdn.example/5000.jpg?width=700", "image/jpeg")
    entry = read(
        content("e.mp3?src=rss", type="audio/mpeg")
        + content("e.mp3", type="audio/mpeg", fileSize=9)
        + "<enclosure url='https://cdn.example/e.mp3?src=rss' length='9' type='audio/mpeg'/>"
    )
    assert [(medium.type, medium.length) for medium in entry.media] == [("audio/mpeg", 9)]


def test_what_has_no_type_is_what_its_path_ends_in() -> None:
    entry = read(
        content("a.PNG?x=1")
        + content("b.mp3")
        + content("c")
        + content("d.jpg", type="application/octet-stream")
    )
    assert [medium.type for medium in entry.media] == ["image/png", "audio/mpeg", "", "image/jpeg"]
    assert read("<enclosure url='/cover.jpg'/>").media[0].is_image


def test_a_player_of_the_post_and_flash_are_no_files() -> None:
    flash = content("x.swf") + content("v/a", type="application/x-shockwave-flash")
    players = "".join(
        f"<media:content url='{url}' type='text/html'/>"
        for url in ("https://www.youtube.com/embed/aaaaaaaaaaa", "https://www.youtube.com/embed/bbbbbbbbbbb")
    )
    link = "<link>https://youtu.be/aaaaaaaaaaa</link>"
    assert urls_of(flash) == []
    assert urls_of(players.replace("<media", f"{link}<media", 1)) == [
        "https://www.youtube.com/embed/bbbbbbbbbbb"
    ]


def test_the_widest_thumbnail_is_taken_with_its_declared_width() -> None:
    thumbnails = "".join(
        f"<media:thumbnail url='https://cdn.example/{width}.jpg' width='{width}'/>"
        for width in (75, 150, 2000)
    )
    entry = read(thumbnails)
    assert (entry.image, entry.image_width) == ("https://cdn.example/150.jpg", 150)
    assert pictures_beside(entry)[0].width == 150
    assert Entry.from_json(json.loads(json.dumps(entry.to_json()))) == entry


def test_attachments_of_one_title_are_one_thing() -> None:
    files = [
        {"url": "https://cdn.example/1.ogg", "mime_type": "audio/ogg", "title": "Talk"},
        {"url": "https://cdn.example/1.mp3", "mime_type": "audio/mpeg", "title": "Talk"},
        {"url": "https://cdn.example/2.mp3", "mime_type": "audio/mpeg"},
    ]
    items = [{"id": "1", "content_text": "x", "attachments": files}]
    document = json.dumps({"version": "https://jsonfeed.org/version/1.1", "items": items})
    (entry,) = parse(document.encode(), content_type="", url="https://blog.example/feed").entries
    assert [one.url[-5:] for one in entry.media] == ["1.mp3", "2.mp3"]
