"""Serializers for `dumpdata` that keep microseconds.

Django's cut times to milliseconds: rows would change order, and compared times would differ.
"""

from datetime import datetime, time
from typing import Any

from django.core.serializers.python import Serializer
from django.db import models


class ExactTimes(Serializer):
    def _value_from_field(self, obj: models.Model, field: "models.Field[Any, Any]") -> Any:
        if isinstance(field.value_from_object(obj), datetime | time):
            return field.value_to_string(obj)
        return super()._value_from_field(obj, field)  # type: ignore[misc]
