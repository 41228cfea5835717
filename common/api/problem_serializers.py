"""What a problem looks like, for the description of the API."""

from typing import Any

from drf_spectacular.utils import OpenApiExample, extend_schema_serializer
from rest_framework import serializers


class ErrorSerializer(serializers.Serializer[Any]):
    """One thing that is wrong."""

    field = serializers.CharField(required=False, help_text="Which field, such as to.email.")
    pointer = serializers.CharField(
        required=False, help_text="Where it stands in the body (RFC 6901), such as #/to/email."
    )
    parameter = serializers.CharField(required=False, help_text="Which query parameter, such as state.")
    detail = serializers.CharField(help_text="What is wrong, in a sentence.")


EXAMPLE = {
    "type": "about:blank",
    "title": "Unprocessable Content",
    "status": 422,
    "detail": "time_zone: There is no time zone “Mars/Olympus”. Use one such as Europe/Paris.",
    "errors": [
        {
            "field": "time_zone",
            "pointer": "#/time_zone",
            "detail": "There is no time zone “Mars/Olympus”. Use one such as Europe/Paris.",
        }
    ],
}


@extend_schema_serializer(
    component_name="Problem",
    examples=[OpenApiExample("What a service refuses", EXAMPLE, status_codes=["422"])],
)
class ProblemSerializer(serializers.Serializer[Any]):
    """RFC 9457."""

    type = serializers.CharField(help_text="about:blank: the status says what kind of problem it is.")
    title = serializers.CharField(help_text="The status in words.")
    status = serializers.IntegerField()
    detail = serializers.CharField(help_text="What is wrong and what to do, for people.")
    errors: Any = ErrorSerializer(many=True, required=False)
