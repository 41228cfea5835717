"""Formulas, drawings and form controls leave their words; hidden parts leave nothing.

Hidden parts of HTML are removed, and nothing else.
MathML as one line of text.
"""

import re

import pytest

from common.html.clean import FEW_TAGS, clean
from common.html.foreign import without_hidden
from common.html.plain_text import to_text

BASE = "https://blog.example.org/posts/one"
ROW = "<mrow><mi>x</mi><mo>=</mo><mn>1</mn></mrow>"
PREFIXED = "<m:mrow><m:mi>x</m:mi><m:mo>=</m:mo><m:mn>1</m:mn></m:mrow>"
TEX = "<annotation encoding='application/x-tex'>x = 1</annotation>"
MATH = f"<math><semantics>{ROW}{TEX}</semantics></math>"
SOURCE = "<code>x = 1</code>"
LINES = "a = 1\n  b = 2"


def cleaned(html: str) -> str:
    return clean(html, base=BASE)


@pytest.mark.parametrize(
    ("html", "shown"),
    [
        (MATH, SOURCE),
        (f"<MATH><SEMANTICS>{ROW}{TEX}</SEMANTICS></MATH>", SOURCE),
        (f"<math alttext='x^2'>{ROW}</math>", "<code>x^2</code>"),
        (f"<math alttext='x squared'>{ROW}</math>", "x squared"),
        (f"<math>{ROW}</math>", "x = 1"),
        (f"<m:math xmlns:m='http://www.w3.org/1998/Math/MathML'>{PREFIXED}</m:math>", "x = 1"),
        ("<script type='math/tex; mode=display'>a < b</script>", "<code>a &lt; b</code>"),
        ("<div data-latex='E = mc^2'></div>", "<div><code>E = mc^2</code></div>"),
        (
            (
                '<div class="latex-rendered"'
                ' data-attrs="{&quot;persistentExpression&quot;:&quot;\\\\alpha&quot;}"></div>'
            ),
            "<div><code>\\alpha</code></div>",
        ),
    ],
)
def test_a_formula_becomes_its_tex_or_its_alttext_or_one_line(html: str, shown: str) -> None:
    assert cleaned(f"<p>So </p>{html}") == f"<p>So </p>{shown}"


@pytest.mark.parametrize(
    "html",
    [
        (
            f"<span class='katex'><span class='katex-mathml'>{MATH}</span>"
            "<span class='katex-html' aria-hidden='true'><i>x</i>=1</span></span>"
        ),
        (
            "<span class='katex'><span class='katex-html' aria-hidden='true'>x=1</span>"
            f"<span class='katex-mathml'>{MATH}</span></span>"
        ),
        (
            "<mjx-container class='MathJax'><mjx-math aria-hidden='true'><mjx-c></mjx-c></mjx-math>"
            f"<mjx-assistive-mml>{MATH}</mjx-assistive-mml></mjx-container>"
        ),
        (
            f"<mjx-container><svg viewBox='0 0 900 900'><path d=''/></svg><mjx-assistive-mml>{MATH}"
            "</mjx-assistive-mml></mjx-container>"
        ),
        (
            "<span class='MathJax_Preview'>x=</span><span class='MathJax'><span>x=1</span></span>"
            "<script type='math/tex'>x = 1</script>"
        ),
        (
            f"<span class='MathJax_Preview'>x</span><span class='MathJax'><span>x=1</span><span>{MATH}"
            "</span></span><script type='math/tex'>x = 1</script>"
        ),
        (
            f"<span class='mwe-math-element'><span style='display: none;'>{MATH}</span>"
            "<img src='/m.svg' aria-hidden='true' alt='x'></span>"
        ),
        f"<span><span class='visually-hidden'>{MATH}</span><span aria-hidden='true'>x = 1</span></span>",
        f"<span><span aria-hidden='true'>x = 1</span><span hidden>{MATH}</span></span>",
    ],
)
def test_of_a_formula_and_its_glyphs_one_stays(html: str) -> None:
    shown = cleaned(f"<p>So {html} it is.</p>").replace("<span>", "").replace("</span>", "")
    assert shown == f"<p>So {SOURCE} it is.</p>"


def test_formulas_beside_each_other_stay() -> None:
    katex = f"<span class='katex'>{MATH}<span class='katex-html'>x</span></span>"
    assert cleaned(katex + katex).count(SOURCE) == 2
    assert (
        cleaned("<span class='katex'><span class='katex-html'>e</span></span>")
        == "<span><span>e</span></span>"
    )


@pytest.mark.parametrize(
    ("html", "shown"),
    [
        ("<svg role='img' aria-label='Tides rise'><title>Tides</title><path/></svg>", "Tides rise"),
        ("<svg><g><title>Tides &amp; rain</title></g><path/></svg>", "Tides &amp; rain"),
        ("<SVG><TITLE>Tides</TITLE><PATH/></SVG>", "Tides"),
        ("<svg><text x=1>1.2</text><text>m</text></svg>", "1.2 m"),
        ("<svg><svg><title>Inner</title></svg><path/></svg>", "Inner"),
        ("<svg viewBox='0 0 640 480'><path/></svg>", "[picture]"),
        ("<svg viewBox='0 0 24 24'><path/></svg>", ""),
        ("<svg width='1em'><path/></svg>", ""),
        ("<svg aria-hidden='true' width=600 height=600><title>Logo</title><path/></svg>", ""),
        ("<svg><use href='#icon'/></svg>", ""),
        ("<svg/>", ""),
        ("<canvas aria-label='A chart'></canvas>", "A chart"),
        ("<canvas></canvas>", "[picture]"),
        ("<canvas>Rain per day</canvas>", "Rain per day"),
        ("<applet code=a alt='A game'></applet>", "A game"),
        ("<canvas>Rain </canvas><i role='img' aria-label='Fire'></i>", "Rain <i>Fire</i>"),
        ("<mjx-container><mjx-math></mjx-math></mjx-container>", "[formula]"),
        ("<select><option>Red<option selected>Green</select>", "Green"),
        ("<select><option>Red<option>Green</select>", "Red"),
        ("<textarea>a &lt; b</textarea>", "<pre>a &lt; b</pre>"),
        ("<input type=submit value=Vote>", "Vote"),
        ("<input value='Copied text'>", "Copied text"),
        ("<input type=hidden value=x><input type=password value=y><input placeholder=z>", ""),
        ("<progress value=7 max=10></progress>", "70 %"),
    ],
)
def test_what_is_dropped_leaves_its_name(html: str, shown: str) -> None:
    link = f'<a href="{BASE}" rel="noopener">'
    assert cleaned(f"<p>It: </p>{html}").replace(link, "").replace("</a>", "") == f"<p>It: </p>{shown}"


def test_what_has_no_name_is_linked_to_the_post() -> None:
    assert cleaned("<svg width=600><path/></svg>") == f'<a href="{BASE}" rel="noopener">[picture]</a>'
    assert cleaned("<a href='/big'><canvas></canvas></a>").count("<a ") == 1


def test_ticks_stay() -> None:
    html = (
        "<ul><li><input type='checkbox' checked disabled> One</li><li><INPUT TYPE=checkbox> Two</li>"
        "<li><input type=radio checked> Three</li></ul>"
    )
    assert cleaned(html) == "<ul><li>☑ One</li><li>☐ Two</li><li>◉ Three</li></ul>"


@pytest.mark.parametrize(
    "hidden",
    [
        "<p hidden>no</p>",
        "<p hidden=''>no</p>",
        "<div style='display:none;max-height:0'>no</div>",
        "<div style='color:red; DISPLAY : NONE'>no</div>".lower(),
        "<span style='visibility: hidden'>no</span>",
        "<b style='position:absolute; left:-9999px'>no</b>",
        "<b style='clip:rect(0 0 0 0);position:absolute'>no</b>",
        *(
            f"<span class='{name}'>no</span>"
            for name in (
                *("sr-only", "screen-reader-text", "visually-hidden", "visuallyhidden", "u-visually-hidden"),
                *("x element-invisible y", "show-for-sr", "assistive-text", "off-screen", "a11y-hidden"),
                *("screen-reader", "sr-only-focusable"),
            )
        ),
        "<dialog>no</dialog>",
        "<datalist><option>no</datalist>",
        "<div popover>no</div>",
    ],
)
def test_what_browsers_hide_is_left_out(hidden: str) -> None:
    assert cleaned(f"<p>Seen</p>{hidden}") == "<p>Seen</p>"
    # Also in a long post, whose HTML is balanced first.
    assert "no<" not in cleaned(f"<p>Seen</p>{hidden}" + "<p>x</p>" * FEW_TAGS)


@pytest.mark.parametrize(
    "html",
    [
        "<p aria-hidden='true'>Seen</p>",
        "<details><summary>Seen</summary>Seen</details>",
        "<p hidden='until-found'>Seen</p>",
        "<dialog open>Seen</dialog>",
        "<p class='not-sr-only'>Seen</p>",
        "<p class='sm:sr-only'>Seen</p>",
        "<p class='sr-only not-sr-only'>Seen</p>",
        "<p class='unhidden hidden-gem'>Seen</p>",
        "<p style='visibility:hidden;animation-name:fadeIn'>Seen</p>",
        "<p style='overflow:hidden'>Seen</p>",
        "<p>hidden, and display: none</p>",
    ],
)
def test_what_browsers_show_stays(html: str) -> None:
    words = "hidden, and display: none" if "and" in html else "Seen"
    assert words in cleaned(f"<p>One</p>{html}")


def test_a_post_of_which_nothing_would_be_left_is_shown() -> None:
    assert cleaned("<div style='display:none'><p>All of it</p></div>") == "<div><p>All of it</p></div>"


def test_hidden_words_name_a_link_that_shows_nothing_else() -> None:
    icon = (
        "<a href='https://x.example/'><svg aria-hidden='true'><path/></svg>"
        "<span class='sr-only'>Follow us</span></a>"
    )
    named = "<a href='https://x.example/' aria-label='Follow us'><i></i></a>"
    text = "<a href='https://x.example/'>link<span class='sr-only'> (opens in a new tab)</span></a>"
    assert cleaned(icon) == '<a href="https://x.example/" rel="noopener">Follow us</a>'
    assert "Follow us</a>" in cleaned(f"{named}<p hidden>x</p>")
    assert cleaned(text) == '<a href="https://x.example/" rel="noopener">link</a>'


def test_elements_of_other_vocabularies_are_no_text_in_a_long_post() -> None:
    html = "<p>One<o:p></o:p> <my-tag a='b'>two</my-tag></p>"
    long = cleaned(html + "<p>x</p>" * FEW_TAGS)
    assert long.startswith("<p>One two</p>")


def test_amps_elements_are_those_that_they_stand_for() -> None:
    assert (
        cleaned("<amp-img src='/a.jpg' width=300></amp-img>")
        == '<img src="https://blog.example.org/a.jpg" width="300">'
    )
    assert "watch?v=abcdefghijk" in cleaned("<amp-youtube data-videoid='abcdefghijk'></amp-youtube>")
    assert "watch?v=abcdefghijk" in cleaned("<lite-youtube videoid=abcdefghijk></lite-youtube>")


def test_nothing_unsafe_comes_back_by_a_name() -> None:
    evil = "&lt;script&gt;alert(1)&lt;/script&gt;&quot;"
    pieces = (
        f"<svg aria-label='{evil}'></svg><svg><title>{evil}</title><path/></svg><input value='{evil}'>",
        f"<math alttext='{evil}'></math><script type='math/tex'><b onclick=x>\"</script>",
        f"<canvas aria-label='{evil}'></canvas><a href='javascript:x' aria-label='{evil}'></a>",
        "<math><mtext><img src=x onerror=y></mtext></math>",
        "<math><annotation-xml encoding='text/html'><b onclick=x></annotation-xml></math>",
    )
    for piece in pieces:
        tags = re.findall("<[^<>]*>", cleaned(piece))
        assert not any(name in tag for tag in tags for name in ("script", "onclick", "onerror"))


@pytest.mark.parametrize(
    ("html", "shown"),
    [
        ("<pre>a = 1</pre><button>Copy</button>", "<pre>a = 1</pre>"),
        (
            "<div><button>Play</button>0:00/<b>3:05</b><input type=range><button>1×</button></div>",
            "<div></div>",
        ),
        ("<div>Sounds<p><button>Play</button> 0:31 <input type=range></p></div>", "<div>Sounds</div>"),
        ("<form><button>Send</button></form>", "Send"),
        (
            '<a href="/x"><button>Buy</button></a>',
            '<a href="https://blog.example.org/x" rel="noopener">Buy</a>',
        ),
        ("<h4><button>Why?</button></h4>", "<h4>Why?</h4>"),
        ("<button aria-expanded=false>Why?</button>", "Why?"),
        ('<button><img src="/a.jpg"></button>', '<img src="https://blog.example.org/a.jpg">'),
        ("<p>10:30 <button>Copy</button></p>", "<p>10:30 </p>"),
    ],
)
def test_controls_that_need_a_script_go_and_others_leave_their_words(html: str, shown: str) -> None:
    assert cleaned(html) == shown


@pytest.mark.parametrize(
    "drawing",
    [
        '<svg style="width:1em;height:1em" viewBox="0 0 1024 1024"><path d="M0"/></svg>',
        '<svg viewBox="0 0 512 512"><path d="M0"/></svg>',
        '<svg style="width: 40px" viewBox="0 0 512 512"><path d="M0"/></svg>',
    ],
)
def test_a_small_drawing_or_one_among_words_is_an_icon(drawing: str) -> None:
    assert cleaned(f"<p>Call {drawing} us</p>") == "<p>Call  us</p>"
    assert cleaned(f"<p>{drawing} Call</p>") == "<p> Call</p>"


def test_a_large_drawing_is_a_picture_and_an_icon_names_a_link_without_words() -> None:
    large = '<svg width="800" height="400"><path d="M0"/></svg>'
    assert "[picture]" in cleaned(f"<p>See {large} here</p>")
    icon = "<svg><title>download-circle</title><path d='M8'/></svg>"
    assert "download" not in cleaned(f'<a href="/f.pdf"><div>Timetable</div><div>{icon}</div></a>')
    assert "download-circle</a>" in cleaned(f'<a href="/f.pdf">{icon}</a>')


@pytest.mark.parametrize(
    "html",
    [
        "<pre><span style='display:block'>a = 1</span><span style='display: block'>  b = 2</span></pre>",
        "<pre><code><span class='line'>a = 1</span><span class='line'>  b = 2</span></code></pre>",
        "<pre><span class='line'>a = 1</span>\n<span class='line'>  b = 2</span></pre>",
        "<pre><div class='token-line'>a = 1</div><div class='token-line'>  b = 2</div></pre>",
        "<pre><div><div>a = 1</div></div><div><div>  <span>b = 2</span></div></div></pre>",
        "<pre><div class=line>a = 1<br></div><div class=line>  b = 2\n</div></pre>",
        "<pre>a = 1<div>  b = 2</div></pre>",
        "<pre><ol><li>a = 1</li><li>  b = 2</li></ol></pre>",
        "<pre><span class='lnum'> 1: </span>a = 1\n<span class='lnum'> 2: </span>  b = 2</pre>",
        "<pre><span class='lnum'>1:</span>a = 1</pre><pre><span class='lnum'>2:</span>  b = 2</pre>",
        (
            "<pre><div class=ec><div class=gutter><div class=ln>1</div></div><div>a = 1</div></div>"
            "<div class=ec><div class=gutter><div class=ln>2</div></div><div>  b = 2</div></div></pre>"
        ),
        "<table><tr><td class=gutter><pre>1\n2</pre></td><td><pre>a = 1\n  b = 2</pre></td></tr></table>",
        "<table><tr><td><pre>1\n2\n</pre></td><td><pre>a = 1\n  b = 2</pre></td></tr></table>",
        "<table><tr><td data-line-number=1></td><td>a = 1</td></tr>\n<tr>\n"
        "<td data-line-number=2></td>\n<td>  <span>b = 2</span></td></tr></table>",
        "<table><tr><td class=lineno>1</td><td>a = 1</td></tr>"
        "<tr><td class=lineno>2</td><td>  b = 2</td></tr></table>",
        "<p><code style='white-space:pre'>a = 1\n  b = 2</code></p>",
        "<div style='white-space: pre'>a = 1\n  b = 2</div>",
    ],
)
def test_lines_of_code_are_lines_without_numbers(html: str) -> None:
    assert to_text(cleaned(html)) == "    a = 1\n      b = 2"
    shown = re.sub("<br>", "\n", cleaned(html))
    assert re.sub("<[^<>]*>", "", shown).strip() == LINES


@pytest.mark.parametrize(
    ("html", "shown"),
    [
        (
            "<img src=/m.png usemap=#m><map name=m><area href=/x alt=North></map>",
            "https://blog.example.org/x",
        ),
        ("<pre>1\n<span class=ln>1</span>a<span class=ln><img src=/i.png></span></pre>", "/i.png"),
        ("<label hidden>x</label><p>y</p>", "<p>y</p>"),
        ("<x-note hidden>x</x-note><p>y</p>", "<p>y</p>"),
        ("<dialog style='display:block'>y</dialog><p>z</p>", "y<p>z</p>"),
        ("<pre>x<textarea>y</textarea>z</pre>", "<pre>x\n<span>y\n</span>z</pre>"),
    ],
)
def test_nothing_that_is_seen_goes_without_a_trace(html: str, shown: str) -> None:
    assert shown in cleaned(html)
    assert "hidden" not in html or cleaned(html) == shown


def test_lines_of_words_are_broken_where_the_style_says_so() -> None:
    assert cleaned("<p style='white-space:pre-wrap'>a\nb</p>") == "<p>a<br>b</p>"
    assert cleaned("<table><tr><td class=ln>3 1</td><td>x</td></tr></table>").count("3 1") == 1


@pytest.mark.parametrize(
    ("html", "left"),
    [
        ("a<!-- b -->c<!--d-->e", "ace"),
        ("a<script src=x>b</SCRIPT >c<STYLE>d</style>e", "ace"),
        ("a<!-- <script> --> b </script>", "a b </script>"),
        ("a<script>'<!--'</script>b-->", "ab-->"),
        # An unclosed part hides nothing, nor what follows it.
        ("a<!-- b<script>c</script>d", "a<!-- bd"),
        ("<script <script a<!--b-->c", "<script <script ac"),
        ("<scripts>a</scripts><!-", "<scripts>a</scripts><!-"),
        ("", ""),
    ],
)
def test_scripts_styles_and_comments_are_taken_out(html: str, left: str) -> None:
    assert without_hidden(html) == left


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<mfrac><mn>1</mn><mn>2</mn></mfrac>", "1/2"),
        ("<mfrac><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow><mn>2</mn></mfrac>", "(a + b)/2"),
        ("<msup><mi>x</mi><mn>2</mn></msup><mo>+</mo><msub><mi>a</mi><mn>10</mn></msub>", "x^2 + a_10"),
        ("<msup><mi>e</mi><mrow><mo>-</mo><mi>x</mi></mrow></msup>", "e^(-x)"),
        ("<msubsup><mo>∫</mo><mn>0</mn><mn>1</mn></msubsup><mi>x</mi>", "∫_0^1 x"),
        ("<msqrt><mn>2</mn></msqrt>", "√2"),
        ("<msqrt><mi>a</mi><mo>+</mo><mn>1</mn></msqrt>", "√(a + 1)"),
        ("<mroot><mi>x</mi><mn>3</mn></mroot><mo>,</mo><mroot><mi>x</mi><mn>5</mn></mroot>", "∛x, x^(1/5)"),
        ("<mover><mi>x</mi><mo>¯</mo></mover>", "x̄"),
        ("<munder><mi>lim</mi><mrow><mi>n</mi><mo>→</mo><mi>∞</mi></mrow></munder>", "lim_(n → ∞)"),
        (
            "<mtable><mtr><mtd><mn>1</mn></mtd><mtd><mn>2</mn></mtd></mtr><mtr><mtd><mn>3</mn>"
            "</mtd><mtd><mn>4</mn></mtd></mtr></mtable>",
            "[1, 2; 3, 4]",
        ),
        ("<mfenced open='[' close=']' separators=';'><mi>a</mi><mi>b</mi></mfenced>", "[a; b]"),
        ("<mi>sin</mi><mo>&ApplyFunction;</mo><mi>x</mi>", "sin x"),
        ("<mn>2</mn><mo>&InvisibleTimes;</mo><mi>x</mi>", "2x"),
        ("<mi>x</mi><mo>&lt;</mo><mn>3</mn>", "x &lt; 3"),
        ("<mo>-</mo><mi>x</mi><mo>=</mo><mo>-</mo><mn>1</mn>", "-x = -1"),
        ("<mi>f</mi><mo>(</mo><mi>x</mi><mo>)</mo><mtext> if </mtext><mi>x</mi>", "f(x) if x"),
        ("<msup><mi>f</mi><mo>′</mo></msup>", "f′"),
        (
            "<mmultiscripts><mi>U</mi><none/><none/><mprescripts/><mn>92</mn><mn>238</mn></mmultiscripts>",
            "_92^238U",
        ),
        ("<mphantom><mi>x</mi></mphantom><mi>y</mi>", "y"),
    ],
)
def test_it_reads_as_one_would_type_it(html: str, text: str) -> None:
    assert clean(f"<math>{html}</math>", base="") == text


def test_what_is_no_mathml_keeps_its_words() -> None:
    assert clean("<p><math>a <mtext>or <b>so</b></mtext></math></p>", base="") == "<p>a or so</p>"
    assert clean("<math><mfrac><mn>1</mn></mfrac></math>", base="") == "1"
