"""How the address of a sign-up is counted: pure."""

import pytest

from subscriptions.rules.limits import counted_as


@pytest.mark.parametrize(
    "core",
    ["ada@gmail.com", "a.d.a@gmail.com", "ada+x@gmail.com", "A.da+x+y@GoogleMail.com", "ada.@gmail.com"],
)
def test_the_spellings_of_one_mailbox_count_together(core: str) -> None:
    assert counted_as(core) == "ada@gmail.com"


def test_different_people_count_apart() -> None:
    assert (
        len(
            {counted_as(core) for core in ("ada@a.example", "ada@b.example", "bob@a.example", "+x@a.example")}
        )
        == 4
    )
