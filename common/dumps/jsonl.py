"""One row per line, which needs little memory."""

from django.core.serializers import jsonl
from django.core.serializers.jsonl import Deserializer

from common.dumps import ExactTimes

__all__ = ["Deserializer", "Serializer"]


class Serializer(ExactTimes, jsonl.Serializer):
    pass
