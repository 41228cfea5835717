import pytest
import yaml
from django.core.management import call_command
from django.test import Client


@pytest.mark.django_db
def test_the_schema_is_public_and_names_every_endpoint(client: Client) -> None:
    answer = client.get("/api/v1/schema/")
    assert answer.status_code == 200
    paths = yaml.safe_load(answer.content)["paths"]
    models = ["feeds", "items", "subscribables", "subscriptions", "destinations", "issues", "deliveries"]
    assert {f"/api/v1/{model}/" for model in models} <= set(paths)
    subscribe = paths["/api/v1/subscribables/{name}/subscribe/"]
    assert list(subscribe) == ["post"]
    assert {"202", "400", "403", "404", "429"} <= set(subscribe["post"]["responses"])


def test_the_schema_has_no_warnings(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("spectacular", "--validate", "--fail-on-warn", "--file", "/dev/null")
    assert capsys.readouterr().err == ""
