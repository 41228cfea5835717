"""The output of `dumpdata`."""

from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.core import serializers

from common.clock import utcnow
from tests.factories import FeedFactory

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("form", settings.SERIALIZATION_MODULES)
def test_times_keep_their_microseconds(form: str) -> None:
    moment = utcnow().replace(microsecond=0) + timedelta(microseconds=123_457)
    feed = FeedFactory(added_at=moment)
    loaded: Any
    (loaded,) = serializers.deserialize(form, serializers.serialize(form, [feed]))
    assert loaded.object.added_at == moment
