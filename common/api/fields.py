"""Fields as strict as the API's description: DRF accepts "yes" as true, and 7 as "7".

Texts keep their white space: services decide about it.
"""

import re
from datetime import UTC, date, datetime, time
from typing import Any

from drf_spectacular.extensions import OpenApiSerializerFieldExtension
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.fields import empty

LARGEST = 2**63 - 1
_WHOLE = re.compile(r"-?[0-9]{1,19}")
# RFC 3339 §5.6.
_MOMENT = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?([Zz]|[+-][0-9]{2}:[0-9]{2})"
)
_NAME = r"[^\x00]{1,64}"
NO_NUL = r"^[^\u0000]*$"


class Text(serializers.CharField):
    """JSON string without NUL, which PostgreSQL refuses."""

    default_error_messages = {"invalid": "Give a text."}  # noqa: RUF012 - DRF's name and type

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{"trim_whitespace": False, **kwargs})

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        return str(data)


class Pattern(Text):
    """Text that fits a regular expression, which the API's description includes."""

    def __init__(self, pattern: str, told: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.pattern, self.told = pattern, told

    def to_internal_value(self, data: Any) -> str:
        text = super().to_internal_value(data)
        # JSON Schema's $ is the very end, Python's also precedes a last newline.
        if not re.fullmatch(self.pattern.removeprefix("^").removesuffix("$"), text):
            raise ValidationError(self.told)
        return text


class Clock(Pattern):
    """An hour of the day."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(
            r"^([01][0-9]|2[0-3]):[0-5][0-9]$",
            "Give hours and minutes, such as 07:00.",
            max_length=5,
            **kwargs,
        )

    def run_validation(self, data: Any = empty) -> Any:
        hour, minute = super().run_validation(data).split(":")
        return time(int(hour), int(minute))


class StrictInteger(serializers.IntegerField):
    """Integer: a JSON number, or digits in a query."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{"min_value": 0, "max_value": LARGEST, **kwargs})

    def to_internal_value(self, data: Any) -> int:
        if isinstance(data, str) and in_address(self) and _WHOLE.fullmatch(data):
            return int(data)
        if isinstance(data, float) and data.is_integer():
            return int(data)
        if not isinstance(data, int) or isinstance(data, bool):
            self.fail("invalid")
        return int(data)


class Flag(serializers.BooleanField):
    """`true` or `false`, also in a query."""

    default_error_messages = {"invalid": "Give true or false."}  # noqa: RUF012 - DRF's name and type

    def to_internal_value(self, data: Any) -> bool:
        if isinstance(data, bool):
            return data
        if not in_address(self) or data not in ("true", "false"):
            self.fail("invalid")
        return bool(data == "true")


class Choice(serializers.ChoiceField):
    default_error_messages = {"invalid_choice": "Give one of {those}."}  # noqa: RUF012 - DRF's name and type

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str) or data not in self.choices:
            self.fail("invalid_choice", those=", ".join(str(choice) for choice in self.choices))
        return str(data)


class Moment(serializers.DateTimeField):
    """RFC 3339 date-time with an offset."""

    default_error_messages = {  # noqa: RUF012 - DRF's name and type
        "invalid": "Give a moment with its offset, such as 2026-03-01T07:00:00+01:00."
    }

    def to_internal_value(self, value: Any) -> datetime:
        try:
            if not isinstance(value, str) or not _MOMENT.fullmatch(value):
                raise ValueError(value)
            return datetime.fromisoformat(value.upper()).astimezone(UTC)
        except (ValueError, OverflowError):
            self.fail("invalid", format="")


class Day(serializers.DateField):
    """RFC 3339 full-date."""

    default_error_messages = {"invalid": "Give a day, such as 2026-03-01."}  # noqa: RUF012 - DRF's name and type

    def to_internal_value(self, value: Any) -> date:
        if not isinstance(value, str) or not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", value):
            self.fail("invalid", format="")
        return super().to_internal_value(value)


class Texts(serializers.DictField):
    def __init__(self, *, longest: int, most: int, **kwargs: Any) -> None:
        super().__init__(child=Text(max_length=longest, allow_blank=True), **kwargs)
        self.most = most

    def to_internal_value(self, data: Any) -> dict[str, str]:
        texts: dict[str, str] = super().to_internal_value(data)
        if len(texts) > self.most or not all(re.fullmatch(_NAME, name) for name in texts):
            raise ValidationError(f"Give at most {self.most} texts, with names of 1 to 64 characters.")
        return texts


def in_address(field: Any) -> bool:
    """Return whether the field is a query parameter, where everything is text."""
    return bool(getattr(field.parent, "in_address", False))


class _TextInSchema(OpenApiSerializerFieldExtension):  # type: ignore[no-untyped-call]
    target_class = Text
    match_subclasses = True

    def map_serializer_field(self, auto_schema: Any, direction: Any) -> dict[str, Any]:
        return {"type": "string", "pattern": getattr(self.target, "pattern", NO_NUL)}


class _TextsInSchema(OpenApiSerializerFieldExtension):  # type: ignore[no-untyped-call]
    target_class = Texts

    def map_serializer_field(self, auto_schema: Any, direction: Any) -> dict[str, Any]:
        value = auto_schema._map_serializer_field(self.target.child, direction)
        auto_schema._insert_field_validators(self.target.child, value)
        return {
            "type": "object",
            "additionalProperties": value,
            "propertyNames": {"pattern": NO_NUL, "minLength": 1, "maxLength": 64},
            "maxProperties": self.target.most,
        }
