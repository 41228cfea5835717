"""Videos, audio and frames become links, without a request or any script."""

import pytest

from common.html.clean import clean
from common.html.plain_text import to_text

BASE = "https://blog.example.org/posts/one"
FILM = "dQw4w9WgXcQ"
PICTURE = f'<img src="https://i.ytimg.com/vi/{FILM}/hqdefault.jpg" alt="" width="480" height="360"><br>'


def cleaned(html: str) -> str:
    return clean(html, base=BASE)


def link(url: str, words: str, image: str = "") -> str:
    return f'<p><a href="{url}" rel="noopener">{image}{words}</a></p>'


@pytest.mark.parametrize(
    "address",
    [
        f"https://www.youtube.com/embed/{FILM}",
        f"//www.youtube-nocookie.com/embed/{FILM}?rel=0&amp;autoplay=1",
        f"http://www.youtube.com/v/{FILM}",
        f"https://youtu.be/{FILM}",
        f"https://www.youtube.com/shorts/{FILM}",
    ],
)
def test_a_film_on_youtube_has_its_picture_and_its_page(address: str) -> None:
    shown = cleaned(f'<iframe src="{address}" title="YouTube video player"></iframe>')
    assert shown == link(f"https://www.youtube.com/watch?v={FILM}", "▶ YouTube", PICTURE)


@pytest.mark.parametrize(
    ("address", "page", "words"),
    [
        (
            f"https://www.youtube.com/embed/{FILM}?start=42",
            f"https://www.youtube.com/watch?v={FILM}&amp;t=42s",
            "",
        ),
        (
            "https://www.youtube.com/embed/videoseries?list=PL1-_a",
            "https://www.youtube.com/playlist?list=PL1-_a",
            "",
        ),
        ("https://player.vimeo.com/video/123?h=ab12", "https://vimeo.com/123/ab12", "▶ Rain – Vimeo"),
        ("https://player.vimeo.com/video/123", "https://vimeo.com/123", "▶ Rain – Vimeo"),
        (
            "https://open.spotify.com/embed/episode/x",
            "https://open.spotify.com/episode/x",
            "▶ Rain – Spotify",
        ),
        (
            "https://w.soundcloud.com/player/?url=https%3A//soundcloud.com/a/b",
            "https://soundcloud.com/a/b",
            "▶ Rain – SoundCloud",
        ),
        ("https://maps.example/at?x=1", "https://maps.example/at?x=1", "Rain – maps.example"),
        ("/slides.pdf", "https://blog.example.org/slides.pdf", "Rain – blog.example.org"),
    ],
)
def test_a_frame_leads_where_a_person_would_look(address: str, page: str, words: str) -> None:
    shown = cleaned(f'<iframe src="{address}" title="Rain"></iframe>')
    assert f'<a href="{page}" rel="noopener">' in shown
    assert words in shown


@pytest.mark.parametrize(
    ("html", "words"),
    [
        ('<iframe src="https://e.example/x"></iframe>', "e.example"),
        ('<iframe src="https://e.example/x" title="Embedded content"></iframe>', "e.example"),
        (
            '<iframe src="https://open.spotify.com/embed/x" title="Spotify Embed: Rain"></iframe>',
            "▶ Rain – Spotify",
        ),
        ('<object data="/paper.pdf"></object>', "paper.pdf – blog.example.org"),
        ('<embed src="/paper.pdf">', "paper.pdf – blog.example.org"),
        ('<video src="/a%20b.mp4"></video>', "▶ a b.mp4"),
        ('<video src="/a.mp4" title="The flood"></video>', "▶ The flood"),
        ('<audio controls><source src="/rain.mp3" type="audio/mpeg">old</audio>', "▶ rain.mp3"),
        (f'<iframe src="https://e.example/x" title="{"x" * 500}"></iframe>', "x" * 199 + "…"),
    ],
)
def test_a_link_says_what_it_leads_to(html: str, words: str) -> None:
    assert to_text(cleaned(html)).startswith(words)


def test_a_films_poster_stands_above_its_link() -> None:
    shown = cleaned('<video poster="/p.jpg" src="flood.mp4"><p>Your browser is old.</p></video>')
    image = '<img src="https://blog.example.org/p.jpg" alt=""><br>'
    assert shown == link("https://blog.example.org/posts/flood.mp4", "▶ flood.mp4", image)


def test_a_film_that_only_a_script_plays_is_played_on_its_page() -> None:
    assert cleaned('<video><source src="blob:x"></video>') == link(BASE, "▶ blog.example.org")


def test_an_object_without_an_address_shows_what_stands_in_it() -> None:
    assert cleaned("<object><p>A drawing of the bridge.</p></object>") == "<p>A drawing of the bridge.</p>"


def test_old_films_are_linked_once() -> None:
    html = f'<object><embed src="https://www.youtube.com/v/{FILM}"></embed></object>'
    assert cleaned(html) == link(f"https://www.youtube.com/watch?v={FILM}", "▶ YouTube", PICTURE)


@pytest.mark.parametrize(
    "html",
    [
        '<iframe src="https://www.googletagmanager.com/ns.html?id=1"></iframe>',
        '<iframe src="https://e.example/" width="1" height="1"></iframe>',
        '<iframe src="https://e.example/" style="display:none"></iframe>',
        '<iframe src="javascript:alert(1)"></iframe>',
        '<iframe srcdoc="<script>x</script>"></iframe>',
        "<iframe></iframe>",
    ],
)
def test_frames_that_count_or_run_leave_nothing(html: str) -> None:
    assert cleaned(html) == ""


def test_a_lazy_frame_is_a_frame() -> None:
    assert "vimeo.com/1" in cleaned('<iframe data-src="https://player.vimeo.com/video/1"></iframe>')


def test_a_frame_in_a_long_post_is_not_lost() -> None:
    long = "<p>x</p>" * 600 + '<iframe src="https://player.vimeo.com/video/1">old</iframe><p>end</p>'
    assert cleaned(long).endswith(link("https://vimeo.com/1", "▶ Vimeo") + "<p>end</p>")


@pytest.mark.parametrize("name", ["data-src-cmplz", "data-cookieblock-src", "data-litespeed-src"])
def test_a_frame_that_waits_for_a_consent_is_a_link_as_well(name: str) -> None:
    html = f'<iframe src="about:blank" {name}="https://www.youtube.com/embed/abcdefghijk"></iframe>'
    assert "watch?v=abcdefghijk" in clean(html, base="https://blog.example/one")


def test_the_label_of_an_object_is_its_name() -> None:
    html = '<object data="/chart.svg" type="image/svg+xml" aria-label="Rain per day"></object>'
    assert "Rain per day – blog.example</a>" in clean(html, base="https://blog.example/one")


def test_a_frame_without_an_address_leaves_its_name() -> None:
    html = '<iframe srcdoc="x" title="Rain per day"></iframe>'
    assert '<a href="https://blog.example/one" rel="noopener">Rain per day</a>' in clean(
        html, base="https://blog.example/one"
    )


@pytest.mark.parametrize(
    ("html", "address", "words"),
    [
        (
            '<a class="embedly-card" href="https://e.example/tide"></a>',
            "https://e.example/tide",
            "e.example/…",
        ),
        ('<a href="https://e.example/tide" title="The tide"></a>', "https://e.example/tide", "The tide"),
        ('<a href="https://e.example/"><i class="fa"></i></a>', "https://e.example/", "e.example"),
        ('<a href="https://e.example/" aria-label="Mail us"><i></i></a>', "https://e.example/", "Mail us"),
        ('<div data-href="https://e.example/tide"></div>', "https://e.example/tide", "e.example/…"),
        ('<blockquote cite="https://e.example/"></blockquote>', "https://e.example/", "e.example"),
        ('<amp-twitter data-tweetid="1"></amp-twitter>', "https://x.com/i/status/1", "x.com/…"),
        ('<amp-vimeo data-videoid="1"></amp-vimeo>', "https://vimeo.com/1", "vimeo.com/…"),
        ('<x-card url="//e.example/tide" title="Tide"></x-card>', "https://e.example/tide", "Tide"),
        (
            '<script src="https://gist.github.com/a/1.js"></script>',
            "https://gist.github.com/a/1",
            "gist.github.com/…",
        ),
        (
            '<div class=tweet data-attrs=\'{"url":"https://x.com/a/1","full_text":"High <water>"}\'></div>',
            "https://x.com/a/1",
            "High <water>",
        ),
        (
            '<iframe src="https://bandcamp.com/EmbeddedPlayer/1/"><a href="https://a.bandcamp.com/b">Tide</a></iframe>',
            "https://a.bandcamp.com/b",
            "▶ Tide – Bandcamp",
        ),
    ],
)
def test_what_only_a_script_or_style_would_fill_leaves_a_link(html: str, address: str, words: str) -> None:
    shown = cleaned(f"<p>Look:</p>{html}<p>End.</p>")
    assert f'<a href="{address}"' in shown
    assert words in to_text(shown)
    assert address in to_text(shown)


@pytest.mark.parametrize(
    "html",
    [
        '<a href="#top"></a>',
        '<a id="top"></a>',
        '<amp-analytics data-url="https://e.example/"></amp-analytics>',
        '<div data-href="https://e.example/">Words</div>',
        '<x-card url="https://e.example/">Words</x-card>',
        f'<div data-href="{BASE}"></div>',
        "<div data-attrs='[1]'></div><div data-attrs='{\"url\": 1}'></div>",
    ],
)
def test_marks_and_elements_with_words_get_no_link(html: str) -> None:
    assert 'href="https://e' not in cleaned(html)
    assert to_text(cleaned(html)) in ("", "Words")


def test_a_script_beside_its_link_is_linked_once() -> None:
    gist = "https://gist.github.com/a/1"
    html = f'<script src="{gist}.js"></script><noscript><a href="{gist}">View</a></noscript>'
    assert cleaned(html) == f'<a href="{gist}" rel="noopener">View</a>'
