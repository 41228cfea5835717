"""Tracking pixels are distinguished from visible pictures."""

import pytest

from common.html.images import is_beacon, is_pixel


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
