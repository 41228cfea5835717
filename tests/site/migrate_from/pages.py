"""The admin's page of an import."""

from typing import Any

from django.test import Client
from django.urls import reverse

from feedletter_site.models import Arrival


def page(client: Client, row: Arrival) -> str:
    return client.get(reverse("admin:feedletter_site_arrival_change", args=[row.pk])).content.decode()


def act(client: Client, row: Arrival, action: str, **data: str) -> str:
    given: dict[str, Any] = {"action": action, "_selected_action": [row.pk], "_on_page": str(row.pk), **data}
    answer = client.post(reverse("admin:feedletter_site_arrival_changelist"), given, follow=True)
    return answer.content.decode()
