"""An admin's template cannot escape the sandbox, hang, or exhaust memory; it costs milliseconds."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from channels.letter import LetterError
from delivery.rendering.engine import usual_source
from delivery.rendering.errors import BrokenTemplate, Rendered, RenderedParts
from delivery.rendering.facts import TemplateSource
from delivery.rendering.issue import render_issue
from delivery.rendering.sandbox import client
from tests.delivery.rendering.samples import entry, facts, html_of, text_of
from tests.examples import examples, some_now

ROOT = Path(__file__).resolve().parents[4]
LONG = entry(1, content="<p>" + "Words and more words. " * 2000 + "</p>")
SCRIPT = """
import os, sys, time
os.environ["DJANGO_SETTINGS_MODULE"] = "feedletter_site.settings"
import django; django.setup()
from delivery.rendering.sandbox import client
from tests.delivery.rendering.sandbox.test_client import letter
letter("x")
print(client._sandbox.child.process.pid, flush=True)
time.sleep(60)
"""
NAMES = st.sampled_from(
    (
        *("title", "posts", "posts.0", "post", "post.title", "post.html", "newsletter", "newsletter.params"),
        *("block", "block.super", "forloop", "forloop.counter", "forloop.parentloop", "k", "a", "b", "count"),
        *("True", "None", "nothing", "12345678901234567890", "1e308", "'text'"),
    )
)
FILTERS = st.sampled_from(
    (
        *("join:title", 'join:"xx"', "length", "upper", "title", "linebreaks", 'slice:"::-1"', 'slice:":5"'),
        *("first", "last", 'date:"YYYYYY"', "truncatechars:9999999", "truncatewords:3", "urlencode"),
        *("striptags", "default:posts", 'yesno:"a,b,c"', "pluralize:title", "capfirst"),
        *("ljust:99999", "add:title", "safe"),
    )
)
EXPRESSIONS = st.builds(
    lambda name, filters: "|".join([name, *filters]), NAMES, st.lists(FILTERS, max_size=3)
)
LEAVES = st.one_of(
    st.builds("{{{{ {} }}}}".format, EXPRESSIONS),
    st.builds("{{% cycle {} {} as b %}}".format, EXPRESSIONS, EXPRESSIONS),
    st.builds("{{% firstof {} {} %}}".format, EXPRESSIONS, EXPRESSIONS),
    st.sampled_from(
        [
            '{% include "parts/post.html" %}',
            '{% include "parts/foot.html" %}',
            "%toEmail%",
            "%motto%",
            "<p>",
            "{%",
            "}}",
        ]
    ),
    st.text("<>&%{}ab \n", max_size=12),
)


def letter(html: str, text: str = "", subject: str = "", **changes: Any) -> Rendered:
    own = {"issues/digest": TemplateSource(html=html, text=text, subject=subject)}
    return render_issue(facts(own=own, **changes))


def problem(html: str, **parts: str) -> BrokenTemplate:
    with pytest.raises(BrokenTemplate) as caught:
        letter(html, **parts)
    assert "\n" not in str(caught.value)
    return caught.value


def child() -> int:
    assert client._sandbox.child is not None
    return client._sandbox.child.process.pid


def is_gone(pid: int) -> bool:
    return not Path(f"/proc/{pid}").exists()


def test_our_own_source_makes_the_same_letter_as_our_file() -> None:
    usual = render_issue(facts())
    source = usual_source("issues/digest")
    own = letter(source.html, source.text)
    assert (html_of(own), text_of(own)) == (html_of(usual), text_of(usual))
    assert own.placeholders.keys() == usual.placeholders.keys()


def test_a_child_is_kept_and_costs_milliseconds() -> None:
    letter("x")
    first, begun = child(), time.process_time()
    for _ in range(20):
        letter("{{ title }}")
    assert child() == first
    assert time.process_time() - begun < 1


def test_threads_take_turns() -> None:
    made: list[str] = []
    threads = [threading.Thread(target=lambda n=n: made.append(letter(f"<i>{n}</i>").html)) for n in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert sorted(html[html.index("<i>") + 3] for html in made) == list("01234567")


@pytest.mark.slow
@pytest.mark.parametrize(
    "html",
    [
        "{% for a in posts.0.text %}{% for b in posts.0.text %}{% for c in posts.0.text %}x"
        "{% endfor %}{% endfor %}{% endfor %}",
        "{% for a in posts.0.text %}{% for b in posts.0.text %}{% blocktranslate %}x{% endblocktranslate %}"
        "{% endfor %}{% endfor %}",
    ],
    ids=["loops", "loops with words"],
)
def test_a_template_without_end_is_ended_after_two_seconds(html: str) -> None:
    letter("x")
    before, begun = child(), time.monotonic()
    with pytest.raises(BrokenTemplate, match=r"html, line 1: it takes longer than 2 seconds\."):
        letter(html, entries=(LONG,))
    assert time.monotonic() - begun < client.PATIENCE_SECONDS + 5
    assert is_gone(before)
    assert "fine" in letter("fine").html


@pytest.mark.parametrize(
    "html",
    [
        "{% with a=posts.0.text|join:posts.0.text %}{% with b=a|join:a %}{{ b }}{% endwith %}{% endwith %}",
        "{% with a=posts.0.text %}"
        + "".join(f"{{% with {b}={a}|join:posts.0.text %}}" for a, b in zip("abcdef", "bcdefg", strict=True))
        + "{{ g|length }}"
        + "{% endwith %}" * 7,
    ],
    ids=["one", "chained"],
)
def test_a_template_that_makes_much_out_of_little_is_refused_its_memory(html: str) -> None:
    with pytest.raises(LetterError, match=r"memory|characters|seconds"):
        letter(html, entries=(LONG,))
    assert "fine" in letter("fine").html


def test_more_than_five_million_characters_are_refused() -> None:
    html = "{% for a in posts.0.text|slice:':1500' %}{{ posts.0.text }}{% endfor %}"
    with pytest.raises(BrokenTemplate, match=r"5,000,000 characters|memory|seconds"):
        letter(html, entries=(LONG,))


@pytest.mark.slow
@pytest.mark.parametrize("html", ["<div>" * 100_000, "<b><i>" * 50_000], ids=["div", "b"])
def test_html_nested_beyond_all_measure_ends_the_child_and_not_us(html: str) -> None:
    with pytest.raises(BrokenTemplate, match=r"nested|seconds|memory"):
        letter(html)
    assert "fine" in letter("fine").html


@pytest.mark.parametrize("html", ["{% if 1 %}" * 5000, "{% if 1 %}" * 400 + "x" + "{% endif %}" * 400])
def test_tags_nested_too_deeply_are_refused(html: str) -> None:
    assert "nested too deeply" in str(problem(html))


@pytest.mark.parametrize(
    "expression",
    [
        "block.context",
        "block.context.holes",
        "block.context.template.engine.dirs",
        "block.nodelist",
        "block.origin.name",
        "block.render",
        "forloop.clear",
        "forloop.items",
        "newsletter.params.copy",
        "newsletter.params.keys",
        "title.upper",
        "title.format",
        "posts.count",
        "k.origin.loader",
        "k.token.contents",
        "settings.SECRET_KEY",
        "request.user",
        "request",
        "self",
        "placeholders",
        "True.real",
        "count.bit_length",
        "count.real",
    ],
)
def test_no_method_is_called_and_no_object_reached(expression: str) -> None:
    html = (
        '{% extends "base.html" %}{% block body %}{% for post in posts %}'
        "{% ifchanged post.title %}{% endifchanged %}"
        "{% for k in forloop %}[{{ EXPRESSION }}]{% endfor %}{% endfor %}{% endblock %}"
    )
    made = letter(html.replace("EXPRESSION", expression)).html
    assert "[]" in made
    assert "[<" not in made.replace("[]", "")


@pytest.mark.parametrize(
    "html",
    [
        "{% load static %}",
        "{% debug %}",
        "{% lorem %}",
        "{% regroup posts by title as x %}",
        "{% widthratio 1 2 99999999999 %}",
        "{% now 'Y' %}",
        "{% url 'admin:index' %}",
        "{% csrf_token %}",
        "{% autoescape off %}{% endautoescape %}",
        '{{ title|ljust:"999999999" }}',
        "{{ title|safe }}",
        '{{ title|add:"x" }}',
        "{{ title|pprint }}",
        '{{ 1|stringformat:"0999999d" }}',
        '{% include "/etc/passwd" %}',
        '{% include "../../pages/newsletter.html" %}',
        '{% extends "../admin/index.html" %}',
        "{% include title %}",
        "{{ newsletter._name }}",
        "{{ newsletter.__class__ }}",
        "{{ posts.0.__init__.__globals__ }}",
    ],
)
def test_what_reaches_beyond_the_letter_is_refused(html: str) -> None:
    assert problem(html).line == 1


def test_the_html_fetches_no_file_while_its_styles_are_inlined(tmp_path: Path) -> None:
    (tmp_path / "x.css").write_text("p{color:#123456}")
    for address in (f"file://{tmp_path}/x.css", f"{tmp_path}/x.css"):
        made = letter(f'<link rel="stylesheet" href="{address}"><p>x</p>')
        assert "#123456" not in made.html


def test_the_child_knows_no_secret() -> None:
    letter("x")
    environment = Path(f"/proc/{child()}/environ").read_text()
    names = {each.partition("=")[0] for each in environment.split("\0") if each}
    assert names <= {"PATH", "LD_LIBRARY_PATH", "LANG", "LC_ALL", "TZDIR", "LC_CTYPE"}


def test_a_child_that_died_while_it_was_idle_is_replaced_without_a_word() -> None:
    letter("x")
    os.kill(child(), signal.SIGKILL)
    time.sleep(0.1)
    assert "fine" in letter("fine").html


def test_an_idle_child_goes_and_leaves_no_zombie(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "IDLE_SECONDS", 0.05)
    letter("x")
    pid = child()
    until = time.monotonic() + 5
    while not is_gone(pid) and time.monotonic() < until:
        time.sleep(0.05)
    assert is_gone(pid)


def test_a_forked_process_has_a_child_of_its_own() -> None:
    letter("x")
    mine = child()
    reading, writing = os.pipe()
    # As if another thread were rendering.
    lock = client._sandbox.lock
    lock.acquire()
    pid = os.fork()
    if pid == 0:
        try:
            signal.alarm(30)
            letter("x")
            other = child()
            client.close()
            os.write(writing, b"own" if other != mine else b"shared")
        finally:
            os._exit(0)
    lock.release()
    os.waitpid(pid, 0)
    os.close(writing)
    assert os.read(reading, 10) == b"own"
    assert child() == mine
    assert "fine" in letter("fine").html


@pytest.mark.slow
@pytest.mark.parametrize("end", some_now([signal.SIGKILL, signal.SIGTERM, signal.SIGINT], every=3))
def test_the_child_ends_with_its_process(end: signal.Signals, tmp_path: Path) -> None:
    environment = {**os.environ, "DATA_DIR": str(tmp_path), "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        [sys.executable, "-c", SCRIPT],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
        cwd=ROOT,
    ) as process:
        assert process.stdout is not None
        pid = int(process.stdout.readline())
        process.send_signal(end)
        process.wait(10)
    until = time.monotonic() + 5
    while not is_or_was(pid) and time.monotonic() < until:
        time.sleep(0.05)
    assert is_or_was(pid)


def is_or_was(pid: int) -> bool:
    """Return whether the process is gone, or a zombie that this machine's init will reap."""
    stat = Path(f"/proc/{pid}/stat")
    try:
        return stat.read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def _wrapped(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.builds("{{% for k in {} %}}{}{{% endfor %}}".format, EXPRESSIONS, inner),
        st.builds("{{% if {} %}}{}{{% else %}}{}{{% endif %}}".format, EXPRESSIONS, inner, inner),
        st.builds("{{% with a={} %}}{}{{% endwith %}}".format, EXPRESSIONS, inner),
        st.builds("{{% ifchanged {} %}}{}{{% endifchanged %}}".format, EXPRESSIONS, inner),
        st.builds(
            "{{% block {} %}}{}{{% endblock %}}".format, st.sampled_from(["body", "head", "foot"]), inner
        ),
        st.builds("{{% spaceless %}}{}{{% endspaceless %}}".format, inner),
        st.builds("{}{}".format, inner, inner),
    )


TEMPLATES = st.builds(
    "{}{}".format,
    st.sampled_from(["", '{% extends "base.html" %}', '{% extends "issues/digest.html" %}']),
    st.recursive(LEAVES, _wrapped, max_leaves=12),
)


@settings(max_examples=examples(80), suppress_health_check=[HealthCheck.too_slow])
@given(html=TEMPLATES, text=TEMPLATES)
def test_whatever_is_written_is_a_letter_or_a_sentence(html: str, text: str) -> None:
    try:
        made: Rendered | RenderedParts = letter(html, text.replace(".html", ".txt"))
    except LetterError as error:
        said = str(error)
        made = RenderedParts(html="")
    else:
        said = ""
    assert "The sandbox" not in said
    assert len(said) < 1000
    for words in (made.html, made.text):
        assert len(words) <= 5_000_000
        assert str(ROOT) not in words
        assert " object at 0x" not in words
