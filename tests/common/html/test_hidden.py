"""Hidden parts of HTML are removed, and nothing else."""

import pytest

from common.html.foreign import without_hidden


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
