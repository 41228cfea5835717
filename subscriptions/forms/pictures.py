from typing import Any, BinaryIO, cast

from django import forms
from django.core.exceptions import ValidationError
from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from common.pictures.codec import clean_picture
from common.pictures.picture import BadPicture, CleanPicture
from subscriptions.branding.brands import picture_url

ACCEPTED = "image/png,image/jpeg,image/webp,image/gif"


class PictureInput(forms.ClearableFileInput):
    def render(self, name: str, value: Any, attrs: Any = None, renderer: Any = None) -> SafeString:
        return render_to_string("admin/subscriptions/picture.html", self.get_context(name, value, attrs))

    def is_initial(self, value: Any) -> bool:
        return bool(value) and isinstance(value, str)


class PictureField(forms.FileField):
    """Cleans to a CleanPicture, an existing name, or False to remove it."""

    def __init__(self, *, least_width: int = 1, **kwargs: Any) -> None:
        kwargs.setdefault("required", False)
        kwargs.setdefault("widget", PictureInput(attrs={"accept": ACCEPTED}))
        super().__init__(**kwargs)
        self.least_width = least_width

    def to_python(self, data: Any) -> CleanPicture | None:  # type: ignore[override]
        file = super().to_python(data)
        if file is None:
            return None
        # A refused form is read twice.
        file.seek(0)
        try:
            return clean_picture(cast(BinaryIO, file), least_width=self.least_width)
        except BadPicture as error:
            raise ValidationError(str(error)) from error

    def prepare_value(self, value: Any) -> Any:
        return picture_url(value) if isinstance(value, str) else value
