"""Fields as strict as the API's description: DRF accepts "yes" as true, and 7 as "7".

Texts keep their white space: services decide about it.
"""

import json
import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, time
from typing import Any

from django.db import models
from django.utils.datastructures import MultiValueDict
from drf_spectacular.extensions import OpenApiSerializerFieldExtension
from rest_framework import serializers
from rest_framework.exceptions import APIException, ParseError, ValidationError
from rest_framework.fields import empty
from rest_framework.parsers import BaseParser

LARGEST = 2**63 - 1
_WHOLE = re.compile(r"-?[0-9]{1,19}")
# RFC 3339 §5.6.
_MOMENT = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?([Zz]|[+-][0-9]{2}:[0-9]{2})"
)
_NAME = r"[^\x00]{1,64}"
NO_NUL = r"^[^\u0000]*$"
LARGEST_BODY = 1024 * 1024
NO_JSON = "The body is not JSON: {}"
UNKNOWN = "There is no such field."
# Not the label and style of forms, and not validators, whose refusals are the services'.
USED_OF_MODELS = {
    "choices",
    "required",
    "allow_null",
    "allow_blank",
    "max_length",
    "max_value",
    "min_value",
    "help_text",
}


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


class BodyTooLarge(APIException):
    status_code = 413
    default_detail = "The body is too large. A mebibyte is the most."


class JsonParser(BaseParser):
    """UTF-8 only (RFC 8259), whatever charset the request declares."""

    media_type = "application/json"

    def parse(self, stream: Any, media_type: Any = None, parser_context: Any = None) -> Any:
        body = stream.read(LARGEST_BODY + 1)
        if len(body) > LARGEST_BODY:
            raise BodyTooLarge
        try:
            value = json.loads(body.decode("utf-8"), parse_constant=_no_constant)
            texts = list(_texts(value))
        except (ValueError, RecursionError) as error:
            message = str(error) if isinstance(error, json.JSONDecodeError) else "it cannot be read."
            raise ParseError(NO_JSON.format(message)) from error
        for path, text in texts:
            # PostgreSQL refuses NUL, UTF-8 lone surrogates.
            if re.search("[\0\ud800-\udfff]", text):
                # Nested by field names, as DRF's errors.
                errors: Any = ["It has characters that cannot be kept, such as NUL."]
                for name in reversed(path):
                    errors = {name: errors}
                raise ValidationError(errors)
        return value


class Fields(serializers.Serializer[Any]):
    """Named fields, no others: a misspelt one is refused, not passed over."""

    in_address = False
    unknown = UNKNOWN

    def to_internal_value(self, data: Any) -> Any:
        strange = [name for name in data if name not in self.fields] if isinstance(data, dict) else []
        if strange:
            raise ValidationError({str(name)[:100]: [self.unknown] for name in strange[:20]})
        return super().to_internal_value(data)


class ModelFields(Fields, serializers.ModelSerializer[Any]):
    """Fields of a model with its limits, choices and help texts, as strict as others. Nothing is saved."""

    serializer_field_mapping = {  # noqa: RUF012 - DRF's name and type
        models.CharField: Text,
        models.TextField: Text,
        models.URLField: Text,
        models.BooleanField: Flag,
        models.PositiveIntegerField: StrictInteger,
        models.PositiveSmallIntegerField: StrictInteger,
        models.TimeField: Clock,
    }
    serializer_choice_field = Choice

    def build_standard_field(self, field_name: str, model_field: Any) -> Any:
        kind, kwargs = super().build_standard_field(field_name, model_field)
        # The model checks them once more: see its service.
        return kind, {name: value for name, value in kwargs.items() if name in USED_OF_MODELS}


class Parameters(Fields):
    """The parameters after the question mark."""

    in_address = True

    @property
    def unknown(self) -> str:  # type: ignore[override]
        known = ", ".join(self.fields)
        return f"There is no such parameter here. There are: {known}." if known else "None is known here."


def read_parameters(kind: type[Parameters], given: "MultiValueDict[str, str]") -> dict[str, Any]:
    """Raises ValidationError."""
    twice = [name for name in given if len(given.getlist(name)) > 1]
    if twice:
        raise ValidationError({name[:100]: ["Give it once."] for name in twice[:20]})
    asked = kind(data=dict(given.items()))
    asked.is_valid(raise_exception=True)
    values: dict[str, Any] = asked.validated_data
    return values


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no number.")


def _texts(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield each text with its path; names of members have the path of their object."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from _texts(each, (*path, str(index)))
    elif isinstance(value, dict):
        for name, each in value.items():
            yield path, name
            yield from _texts(each, (*path, name))
