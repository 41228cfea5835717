"""Images: a URL that shows something, whatever script would have loaded it.

Tracking pixels are distinguished from visible pictures.
"""

import pytest

from common.html.clean import clean
from common.html.images import best_of, is_beacon, is_pixel

BASE = "https://blog.example.org/posts/one"
HOST = "https://blog.example.org"
DRAWING = "data:image/svg+xml;base64,PHN2Zz48cGF0aCBkPSJNMCAwaDkiLz48L3N2Zz4="


def cleaned(html: str) -> str:
    return clean(html, base=BASE)


@pytest.mark.parametrize(
    "attributes",
    [
        'src="/a.jpg"',
        'src="/a.jpg" srcset="/b.jpg 2x"',
        'src="data:image/gif;base64,R0lGOD" data-src="/a.jpg"',
        'data-lazy-src="/a.jpg"',
        'src="/img/placeholder.png" data-original="/a.jpg"',
        'srcset="/s.jpg 300w, /a.jpg 1000w, /b.jpg 4000w"',
        'src="data:image/svg+xml,x" data-srcset="../a.jpg"',
    ],
)
def test_an_image_is_found_wherever_its_address_stands(attributes: str) -> None:
    assert cleaned(f'<img {attributes} alt="x">') == f'<img src="{HOST}/a.jpg" alt="x">'


@pytest.mark.parametrize(
    ("srcset", "best"),
    [
        ("a.jpg 300w, b.jpg 1000w, c.jpg 2000w", "b.jpg"),
        ("a.jpg, b.jpg 2x, c.jpg 3x", "b.jpg"),
        ("c.jpg 2000w, d.jpg 3000w", "c.jpg"),
        ("https://e.org/w_300,c_fit/a.jpg 300w,https://e.org/b.jpg 600w", "https://e.org/b.jpg"),
        ("one.jpg", "one.jpg"),
        ("", ""),
        (" , ,", ""),
        ("a.jpg 1.2.3w", "a.jpg"),
    ],
)
def test_of_several_sizes_the_largest_that_a_letter_has_use_for(srcset: str, best: str) -> None:
    assert best_of(srcset) == best


def test_the_image_of_a_noscript_is_shown_once() -> None:
    lazy = '<img src="data:image/gif;base64,R0" data-src="/a.jpg"><noscript><img src="/a.jpg"></noscript>'
    assert cleaned(f"<p>{lazy}</p>") == f'<p><img src="{HOST}/a.jpg"></p>'
    assert cleaned("<noscript><p>b</p></noscript>") == "<p>b</p>"


def test_a_picture_is_its_image_or_a_source_that_mail_programs_know() -> None:
    sources = '<source type="image/avif" srcset="/a.avif"><source srcset="/a.jpg 1x">'
    assert cleaned(f'<picture>{sources}<img src="/b.jpg"></picture>') == f'<img src="{HOST}/b.jpg">'
    assert cleaned(f'<picture>{sources}<img alt="x"></picture>') == f'<img src="{HOST}/a.jpg" alt="x">'
    assert cleaned(f"<picture>{sources}</picture>") == ""


def test_what_cannot_be_shown_leaves_its_words() -> None:
    assert (
        cleaned('a <img src="data:image/png;base64,AAAA" alt="A &lt;chart&gt;"> b') == "a A &lt;chart&gt; b"
    )
    assert cleaned('<img src="https://s.w.org/images/core/emoji/14/72x72/1f600.png" alt="😀">') == "😀"


def test_a_beacon_takes_what_held_it_along() -> None:
    beacon = '<img src="https://feeds.feedburner.com/~r/x/~4/abc" alt="">'
    assert cleaned(f'<p>a</p><p><a href="/x">{beacon}</a></p>') == "<p>a</p>"
    assert cleaned(f"<p>a</p><figure>{beacon}<figcaption>b</figcaption></figure>").endswith(
        "<figure><figcaption>b</figcaption></figure>"
    )


@pytest.mark.parametrize("address", ["javascript:alert(1)", "data:text/html,x", "file:///x", "http://[x"])
def test_a_late_address_is_as_safe_as_any(address: str) -> None:
    for name in ("data-src", "srcset", "data-srcset"):
        assert cleaned(f'<img {name}="{address}">') == ""


def test_without_a_base_a_late_address_must_be_whole() -> None:
    assert clean('<img data-src="/a.jpg"><img data-src="https://e.org/a.jpg">', base="") == (
        '<img src="https://e.org/a.jpg">'
    )


@pytest.mark.parametrize(
    "attributes",
    [
        'src="data:image/gif;base64,R0lGOD" data-actualsrc="https://blog.example.org/a.jpg"',
        'src="/loading.gif" data-echo="https://blog.example.org/a.jpg"',
        'data-some-lazy-image="https://blog.example.org/a.jpg" data-permalink="https://blog.example.org/"',
        (
            'src="data:image/gif;base64,R0" data-permalink="https://blog.example.org/x.png-page"'
            ' data-orig-file="https://blog.example.org/a.jpg"'
        ),
        'src="/t.gif" data-src="https://blog.example.org/a.jpg"',
        'src="/assets/grey.gif" data-lazy="https://blog.example.org/a.jpg"',
        (
            'data-set="https://blog.example.org/s.jpg 300w, https://blog.example.org/a.jpg 900w"'
            ' src="/blank.png"'
        ),
    ],
)
def test_a_script_of_any_name_may_load_it(attributes: str) -> None:
    assert cleaned(f"<img {attributes}>") == f'<img src="{HOST}/a.jpg">'


def test_an_address_that_shows_something_is_not_replaced() -> None:
    assert (
        cleaned('<img src="/a.jpg" data-echo="https://blog.example.org/b.jpg">')
        == f'<img src="{HOST}/a.jpg">'
    )
    assert cleaned('<img src="/blank.png" data-link="https://x.example/"><p hidden>').count("/blank.png") == 1


@pytest.mark.parametrize(
    ("attributes", "sizes"),
    [
        ('style="width:32px;height:32px"', ' width="32" height="32"'),
        ('style="max-width:32px"', ' width="32"'),
        ('style="width:50%"', ' width="50%"'),
        ('style="width:2.5em"', ' width="40"'),
        ('style="width:100px" width="512" height="512"', ' width="100"'),
        ('style="max-width:100%;height:auto" width="640" height="480"', ' width="640" height="480"'),
        ('style="max-width:300px" width="640" height="480"', ' width="300"'),
        ('style="max-width:900px" width="640" height="480"', ' width="640" height="480"'),
        ('style="border-width:3px;min-width:9px"', ""),
        ('style="width:auto" width="64"', ' width="64"'),
    ],
)
def test_sizes_in_a_style_count_as_attributes_do(attributes: str, sizes: str) -> None:
    assert cleaned(f'<img src="/a.jpg" {attributes}>') == f'<img src="{HOST}/a.jpg"{sizes}>'


@pytest.mark.parametrize(
    "source",
    [
        "data:image/png;base64,AAAA",
        f"data:image/gif;base64,{'A' * 300}",
        DRAWING,
        "DATA:image/webp;base64,AA",
    ],
)
def test_a_picture_within_the_post_leaves_its_words_or_a_link(source: str) -> None:
    to_page = f'<a href="{HOST}/posts/one" rel="noopener">[picture]</a>'
    assert cleaned(f'<p>a <img width="9" src="{source}"> b</p>') == f"<p>a {to_page} b</p>"
    assert cleaned(f"<p><img src='{source}' alt=Chart></p>") == "<p>Chart</p>"
    assert cleaned(f"<a href='/x'><img src={source}></a>").endswith(">[picture]</a>")
    assert cleaned(f'<img src="{source}" width="1" height="1">') == ""
    assert cleaned(f'<img src="{source}" data-src="/a.jpg">') == f'<img src="{HOST}/a.jpg">'


@pytest.mark.parametrize(
    "source",
    [
        "data:image/gif;base64,R0lGODlhAQABAAAAACw=",
        "data:image/svg+xml,%3Csvg viewBox='0 0 1 1'%3E%3C/svg%3E",
        "",
    ],
)
def test_a_placeholder_leaves_nothing(source: str) -> None:
    assert cleaned(f'<p>a<img src="{source}"></p>') == "<p>a</p>"


@pytest.mark.parametrize(
    ("sources", "shown"),
    [
        ('<source type="image/png" srcset="/s.png 800w, /m.png 1600w, /l.png 3000w">', "/m.png"),
        (
            '<source type="image/webp" srcset="/x.webp"><source type="image/jpeg" srcset="/x.jpg 1x">',
            "/x.jpg",
        ),
        ('<source srcset="/s.gif 300w">', "/s.gif"),
        ('<source type="image/webp" srcset="/x.webp 800w">', "/b.avif"),
    ],
)
def test_of_a_picture_letters_have_a_format_that_every_mail_program_shows(sources: str, shown: str) -> None:
    assert cleaned(f'<picture>{sources}<img src="/b.avif"></picture>') == f'<img src="{HOST}{shown}">'


@pytest.mark.parametrize(
    "url",
    [
        "http://feeds.feedburner.com/~r/example/~4/abc",
        "https://feeds.feedburner.com/~ff/example?d=yIl2AUoC8zA",
        "https://pixel.wp.com/b.gif?host=example.com&blog=1",
        "http://stats.wordpress.com/b.gif?x",
        "https://medium.com/_/stat?event=post.clientViewed",
        "https://blogger.googleusercontent.com/tracker/1/2",
        "https://www.google-analytics.com/collect?v=1",
        "https://ad.doubleclick.net/ddm/trackimp/1",
        "https://www.facebook.com/tr?id=1&ev=PageView",
        "https://stats.blog.example/matomo.php?idsite=1",
        "https://blog.example/c/1/f/2/s/3/mf.gif",
        "HTTPS://Pixel.WP.com/b.gif",
        "https://user@pixel.wp.com:443/b.gif",
    ],
)
def test_known_counters_are_beacons(url: str) -> None:
    assert is_beacon(url)


@pytest.mark.parametrize(
    "url",
    [
        "https://medium.com/a-post",
        "https://miro.medium.com/max/1400/picture.png",
        "https://blogger.googleusercontent.com/img/a/picture",
        "https://www.facebook.com/trains/picture.jpg?x=/tr?",
        "https://notpixel.wp.com.example/b.gif",
        "https://pixel.wp.com.example/b.gif",
        "https://blog.example/?next=https://pixel.wp.com/",
        "https://i0.wp.com/blog.example/picture.jpg",
        "https://substackcdn.com/image/fetch/picture.png",
        "",
        "picture.png",
    ],
)
def test_pictures_are_none(url: str) -> None:
    assert not is_beacon(url)


@pytest.mark.parametrize(
    ("values", "style"),
    [
        ({"width": "1", "height": "1"}, ""),
        ({"width": "0", "height": "0.0px"}, ""),
        ({}, "width: 1px; height: 1px"),
        ({"width": "1"}, "height:0"),
        ({"width": "600"}, "display:none"),
        ({}, "visibility: hidden"),
        ({}, "opacity:0"),
        ({}, "opacity: 0.0; width: 9px"),
    ],
)
def test_what_is_a_pixel_large_or_hidden_is_a_pixel(values: dict[str, str], style: str) -> None:
    assert is_pixel(values, style)


@pytest.mark.parametrize(
    ("values", "style"),
    [({}, ""), ({"width": "1"}, ""), ({"width": "10", "height": "1"}, ""), ({}, "opacity:0.5")],
)
def test_what_can_be_seen_is_none(values: dict[str, str], style: str) -> None:
    assert not is_pixel(values, style)
