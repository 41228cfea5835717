from collections.abc import Callable

import pytest
from django.test import Client

from reader.models import Reader


@pytest.fixture
def web() -> Callable[[Reader], Client]:
    """A browser in which a reader is signed in."""

    def one(reader: Reader) -> Client:
        client = Client()
        client.force_login(reader.user)
        return client

    return one
