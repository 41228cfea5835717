from collections.abc import Iterator

import pytest
from django.core.cache import cache

SECOND_DATABASE = False


@pytest.fixture(autouse=True)
def fresh_limits() -> Iterator[None]:
    cache.clear()
    yield
    cache.clear()
