from collections.abc import Iterator

import pytest
from django.core.cache import cache

from delivery.letters.pages import forget_pages


@pytest.fixture(autouse=True)
def _empty_cache() -> Iterator[None]:
    """Clear the day's count of mails, because row numbers repeat in every test."""
    cache.clear()
    forget_pages()
    yield
    cache.clear()
