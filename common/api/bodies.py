import json
import re
from collections.abc import Iterator
from typing import Any

from django.db import models
from django.utils.datastructures import MultiValueDict
from rest_framework import serializers
from rest_framework.exceptions import APIException, ParseError, ValidationError
from rest_framework.parsers import BaseParser

from common.api.fields import Choice, Clock, Flag, StrictInteger, Text

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
