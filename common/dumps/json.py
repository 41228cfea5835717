from django.core.serializers import json
from django.core.serializers.json import Deserializer

from common.dumps import ExactTimes

__all__ = ["Deserializer", "Serializer"]


class Serializer(ExactTimes, json.Serializer):
    pass
