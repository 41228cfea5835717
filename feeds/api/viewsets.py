"""What every read endpoint shares: bounded pages, plain filters, staff only (the settings' default)."""

from collections.abc import Mapping
from typing import Any, ClassVar

from django.core.exceptions import ValidationError as DjangoValidationError
from django.db.models import Model, QuerySet
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_view
from rest_framework.exceptions import ValidationError
from rest_framework.pagination import LimitOffsetPagination
from rest_framework.viewsets import ReadOnlyModelViewSet


class BoundedPagination(LimitOffsetPagination):
    """?limit= and ?offset=; at most 1,000 at once."""

    max_limit = 1000


class ReadViewSet(ReadOnlyModelViewSet[Any]):
    """List and detail. `filters` maps a query parameter to the field it compares."""

    pagination_class = BoundedPagination
    filters: ClassVar[Mapping[str, str]] = {}

    def filter_queryset(self, queryset: "QuerySet[Any]") -> "QuerySet[Any]":
        for parameter, field in self.filters.items():
            value = self.request.query_params.get(parameter)
            if value:
                queryset = filtered(queryset, parameter, field, value)
        return super().filter_queryset(queryset)


def filtered(queryset: "QuerySet[Any]", parameter: str, field: str, value: str) -> "QuerySet[Any]":
    """Raises the API's ValidationError (400) for a value the field cannot have."""
    try:
        return queryset.filter(**{field: checked(queryset.model, field, value)})
    except (ValueError, DjangoValidationError):
        raise ValidationError({parameter: f"“{value[:40]}” is not possible here."}) from None


def checked(model: type[Model], path: str, value: str) -> Any:
    """The value as the field at the end of a path takes it. Raises ValueError or ValidationError."""
    field: Any = model._meta.pk
    for part in path.split("__"):
        field = model._meta.get_field(part)
        model = field.related_model or model
    field = model._meta.pk if field.is_relation else field
    if field.choices and value not in {str(choice) for choice, _ in field.choices}:
        raise ValueError(value)
    # Integers that no database column holds, and NUL, which PostgreSQL refuses in texts.
    if (
        "\0" in value
        or len(value) > 700
        or (field.get_internal_type().endswith("AutoField") and len(value) > 18)
    ):
        raise ValueError(value)
    return field.to_python(value)


def with_filters(**names: str) -> Any:
    """Tells the schema the list's query parameters, each with what it means."""
    parameters = [OpenApiParameter(name, str, description=text) for name, text in names.items()]
    return extend_schema_view(list=extend_schema(parameters=parameters))
