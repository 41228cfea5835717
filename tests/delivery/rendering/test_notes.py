"""An editor's notes in a letter whose own template has no place for them."""

from django.utils.safestring import mark_safe

from delivery.rendering.errors import RenderedParts
from delivery.rendering.issue import Note, Notes, note_of, with_notes

NONE = note_of("", base="")
TOP, FOOT = Note(mark_safe("<p>Hello</p>"), "Hello"), Note(mark_safe("<p>Bye</p>"), "Bye")


def test_they_stand_before_and_after_all_else() -> None:
    drawn = RenderedParts(html='<html><BODY class="a">posts</body ></html>', text="posts\n")
    made = with_notes(drawn, Notes(TOP, FOOT))
    assert made.text == "Hello\n\nposts\n\nBye\n"
    start, middle, end = made.html.partition("posts")
    assert start.startswith('<html><BODY class="a"><div class="note note-top"')
    assert start.endswith("<p>Hello</p></div>")
    assert middle
    assert end.startswith('<div class="note note-foot"')
    assert end.endswith("<p>Bye</p></div></body ></html>")


def test_without_a_body_they_are_the_first_and_the_last() -> None:
    made = with_notes(RenderedParts(html="posts", text="posts"), Notes(TOP, FOOT)).html
    assert made.index("Hello") < made.index("posts") < made.index("Bye")


def test_what_the_template_shows_itself_is_not_shown_twice() -> None:
    drawn = RenderedParts(html='<div class="note note-top"><p>Hello</p></div>posts', text="posts\n\nHello\n")
    assert with_notes(drawn, Notes(TOP, NONE)) == drawn
    assert with_notes(drawn, Notes(NONE, NONE)) == drawn
