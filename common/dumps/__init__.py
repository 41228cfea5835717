"""Serializers for `dumpdata` that keep every value as it is.

Django's JSON formats cut times to milliseconds. Then rows change their order, and what is compared with a
stored time no longer equals it.
"""

from datetime import datetime, time
from typing import Any

from django.core.serializers.python import Serializer
from django.db import models


class ExactTimes(Serializer):
    """Serializer that writes times with their microseconds."""

    def _value_from_field(self, obj: models.Model, field: "models.Field[Any, Any]") -> Any:
        if isinstance(field.value_from_object(obj), datetime | time):
            return field.value_to_string(obj)
        return super()._value_from_field(obj, field)  # type: ignore[misc]
