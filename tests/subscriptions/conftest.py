from collections.abc import Iterator

import pytest
from django.core.cache import cache


@pytest.fixture(autouse=True)
def _empty_cache() -> Iterator[None]:
    """The day's count of mails lives there, and row numbers come again in every test."""
    cache.clear()
    yield
    cache.clear()
