"""The backend of anymail that serves an account, with the account's own settings."""

from importlib import import_module
from typing import Any

from channels.email.esp.http import EspHttp
from channels.email.esp.message_form import Filling
from channels.email.esp.services import Style
from channels.email.esp.settings import EspSettings


def backend(target: EspSettings, *, seconds: float) -> Any:
    """An open backend; `seconds` are what each request may take.

    Raises ImproperlyConfigured where a package is missing.
    """
    service, options = target.service, target.options
    made = import_module(f"anymail.backends.{service.backend}").EmailBackend
    if service.style is Style.LIST:
        made = type("Backend", (Filling, made), {"feedletter_service": service})
    if service.backend == "amazon_ses":
        parameters = {
            "aws_access_key_id": target.key,
            "aws_secret_access_key": target.secret,
            "region_name": options["region"],
            # No second try within a request: the ledger decides about those.
            "config": {
                "connect_timeout": min(seconds, 10),
                "read_timeout": seconds,
                "retries": {"max_attempts": 0},
            },
        }
        if "api_url" in options:
            parameters["endpoint_url"] = options["api_url"]
        anymails: dict[str, Any] = {"client_params": parameters}
        if "configuration_set" in options:
            anymails["configuration_set_name"] = options["configuration_set"]
        client: Any = made(**anymails, ignore_recipient_status=True)
        client.open()
        return client
    anymails = {service.options[name]: value for name, value in options.items() if name in service.options}
    anymails[service.key] = target.key
    if service.secret:
        anymails[service.secret] = target.secret
    if service.domain and target.domain:
        anymails[service.domain] = target.domain
    api_url = options.get("api_url") or service.regions.get(options.get("region", "us"), "")
    if api_url:
        anymails["api_url"] = api_url
    if service.backend == "sendgrid":
        # Fields are named as they stand in the letter.
        anymails["merge_field_format"] = "{}"
    client = made(**anymails, timeout=seconds, ignore_recipient_status=True)
    client.session = EspHttp(seconds=seconds)
    return client
