"""The format `jsonl` of `dumpdata` and `loaddata`: one row a line, so neither needs memory for all rows."""

from django.core.serializers import jsonl
from django.core.serializers.jsonl import Deserializer

from common.dumps import ExactTimes

__all__ = ["Deserializer", "Serializer"]


class Serializer(ExactTimes, jsonl.Serializer):
    """JSON lines with the microseconds of times."""
