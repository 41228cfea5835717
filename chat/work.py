from datetime import datetime
from typing import Any

from django.db.models import QuerySet

from chat.models import Interaction


def to_answer(now: datetime) -> "tuple[QuerySet[Any], ...]":
    return (Interaction.objects.due(now),)
