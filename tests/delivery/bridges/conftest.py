from collections.abc import Iterator

import pytest

from tests.servers.mastodon_instance import MastodonInstance


@pytest.fixture
def instance(loopback_allowed: None) -> Iterator[MastodonInstance]:
    with MastodonInstance() as server:
        yield server
