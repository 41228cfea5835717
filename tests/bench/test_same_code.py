"""Two files have the same code if only docstrings, comments and local names differ."""

import pytest

from bench.same_code import Renames, canonical

BEFORE = '''
"""What adds."""
from shop.rows import row as line

def total(found, *, most=3):
    """What it all comes to."""
    told = [one.price for one in found]
    try:
        said = sum(told, start=line(told=told))
    except ValueError as error:
        raise KeyError("price") from error
    return lambda told: said + told  # the last
'''
RENAMED = '''
from shop.lines import row as entry

def total(found, *, most=3):
    """Return the sum."""
    prices = [item.price for item in found]
    try:
        amount = sum(prices, start=entry(told=prices))
    except ValueError as invalid:
        raise KeyError("price") from invalid
    return lambda told: amount + told
'''
TABLE = Renames.read(["shop/rows.py shop/lines.py", "line entry  # a name", "shop/cart.py:most limit"])


def same(before: str, after: str) -> bool:
    return canonical(before, "shop/cart.py", TABLE) == canonical(after, "shop/cart.py", Renames())


def test_docstrings_comments_local_names_and_the_tables_renames_do_not_count() -> None:
    assert same(BEFORE, RENAMED.replace("most=3", "limit=3"))


@pytest.mark.parametrize(
    ("words", "others"),
    [
        ("limit=3", "limit=4"),
        ('"price"', '"prices"'),
        ("told=prices", "prices=prices"),
        ("amount + told", "told + amount"),
        ("item.price", "item.cost"),
        ("ValueError", "TypeError"),
        ("lambda told: amount + told", "lambda told: amount"),
        ("start=", ""),
        ("def total(found", "def total(rows"),
    ],
)
def test_any_other_difference_counts(words: str, others: str) -> None:
    after = RENAMED.replace("most=3", "limit=3")
    assert words in after
    assert not same(BEFORE, after.replace(words, others))
