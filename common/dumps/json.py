"""The format `json` of `dumpdata` and `loaddata`."""

from django.core.serializers import json
from django.core.serializers.json import Deserializer

from common.dumps import ExactTimes

__all__ = ["Deserializer", "Serializer"]


class Serializer(ExactTimes, json.Serializer):
    """JSON with the microseconds of times."""
