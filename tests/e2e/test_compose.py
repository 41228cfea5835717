"""docker-compose.yml: each service by its own command, on real PostgreSQL and Redis.

docs/examples/kubernetes.yml: the parts of docker-compose.yml, as a pod each.
"""

import json
import re
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psycopg
import pytest
import yaml
from django.conf import settings

from feedletter_site import env
from tests.e2e import compose
from tests.e2e.image import Stage
from tests.e2e.journey import NEW, SECRET, Blog, arrived, ping, set_up
from tests.e2e.processes import answers, until
from tests.examples import NIGHTLY
from tests.servers.smtp_server import SmtpServer
from tests.services import free_port

ITEMS: list[dict[str, Any]] = yaml.safe_load(
    (compose.ROOT / "docs" / "examples" / "kubernetes.yml").read_text(encoding="utf-8")
)["items"]
PODS = {
    i["metadata"]["name"]: i["spec"]["template"]["spec"] for i in ITEMS if "template" in i.get("spec", {})
}
OURS = {name: pod for name, pod in PODS.items() if name != "redis"}
WORKERS = {name: pod["containers"][0] for name, pod in OURS.items() if name.startswith("worker-")}
VARIABLES = {"SECRET_KEY": SECRET, "POSTGRES_PASSWORD": "secret", "SITE_URL": "http://127.0.0.1:8000"}
LIMIT_SECONDS = 60


def test_every_queue_has_a_worker() -> None:
    from django.conf import settings

    services = compose.load(VARIABLES)
    workers = [service.command for service in services.values() if "worker" in service.command]
    served = {queue for command in workers for queue in command[command.index("-Q") + 1].split(",")}
    routed = {route["queue"] for route in settings.CELERY_TASK_ROUTES.values()}
    assert routed | {settings.CELERY_TASK_DEFAULT_QUEUE} == served


@pytest.mark.parametrize("name", sorted(VARIABLES))
def test_compose_refuses_to_start_without_what_it_needs(name: str) -> None:
    with pytest.raises(compose.Unset, match=name):
        compose.load({**VARIABLES, name: ""})


def test_without_a_mail_server_the_admin_sets_mail_up() -> None:
    """A set EMAIL_URL would override the admin's setup."""
    assert {service.environment["EMAIL_URL"] for service in compose.load(VARIABLES).values()} == {""}
    given = compose.load({**VARIABLES, "EMAIL_URL": "smtp://mail"})
    assert {service.environment["EMAIL_URL"] for service in given.values()} == {"smtp://mail"}


def test_what_is_kept_of_var_is_in_a_volume_that_the_user_may_write_to() -> None:
    """A tmpfs would hold pictures in memory. A new volume has the owner of the image's folder."""
    document = yaml.safe_load((compose.ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
    assert document["services"]["web"]["volumes"] == ["media:/app/var/media"]
    assert "media" in document["volumes"]
    image = (compose.ROOT / "Dockerfile").read_text(encoding="utf-8")
    assert "install -d -o feedletter /app/var /app/var/media" in image


def test_containers_of_ours_are_read_only_without_privileges_and_published_to_this_machine_alone() -> None:
    document = yaml.safe_load((compose.ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
    for name, service in document["services"].items():
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", []))
        if name in compose.load(VARIABLES):
            assert (service["read_only"], service["cap_drop"]) == (True, ["ALL"]), name
            assert service["tmpfs"] == ["/tmp", "/app/var"]  # noqa: S108 - in the container


def test_only_migrate_waits_for_the_database_and_the_rest_for_migrate() -> None:
    services = compose.load(VARIABLES)
    assert services.pop("migrate").after == {"postgres"}
    assert all("migrate" in service.after for service in services.values())


def test_every_service_that_goes_on_has_a_health_check_and_workers_are_asked_by_their_names() -> None:
    services = compose.load(VARIABLES)
    assert services.pop("migrate").health == []
    assert all(service.health for service in services.values())
    for service in services.values():
        if "-n" in service.command:
            name = service.command[service.command.index("-n") + 1].partition("@")[0]
            assert service.health[-2:] == ["feedletter_site/alive.py", name]


def test_every_setting_that_a_container_may_use_is_handed_on() -> None:
    settings = (compose.ROOT / "feedletter_site" / "settings.py").read_text(encoding="utf-8")
    read = set(re.findall(r'env\.\w+\(\s*"([A-Z_]+)"', settings))
    every = compose.load({**VARIABLES, **dict.fromkeys(read, "x")})["web"].environment
    # The image sets where it listens and keeps files, nobody debugs there, and its workers have no pg_dump.
    # Each part has a container.
    unused = {"BIND", "DATA_DIR", "DEBUG", "BACKUP_DIR", "BACKUP_KEEP_DAYS", "PROCESSES"}
    assert read - every.keys() == unused


def test_secrets_may_come_from_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (compose.ROOT / "docs" / "examples" / "compose-secrets.yml").read_text(encoding="utf-8")
    example = yaml.safe_load(text.replace("!reset null", "null"))
    services = compose.load(VARIABLES)
    assert services.keys() <= example["services"].keys()
    for name, value in {**services["web"].environment, **example["x-secrets"]["environment"]}.items():
        monkeypatch.setenv(name, value.replace("/run/secrets", str(tmp_path)))
    for name in ("SECRET_KEY", "EMAIL_URL", "DATABASE_URL"):
        (tmp_path / name.lower()).write_text(f"the {name}\n")
        assert env.text(name) == f"the {name}"


@pytest.mark.slow
def test_celerys_command_finds_our_modules() -> None:
    """As it is in the image: without our folder on Python's path."""
    command = ["celery", *compose.load(VARIABLES)["beat"].command[1:4], "report"]
    environment = {"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "SECRET_KEY": SECRET}
    done = subprocess.run(
        command, cwd=compose.ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "'feeds.poll': {'queue': 'poll'}" in done.stdout


@pytest.fixture
def database(postgres_url: str) -> str:
    """Return host:port of a PostgreSQL with compose's own role and an empty database of that name."""
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("DROP DATABASE IF EXISTS feedletter")
        connection.execute("DROP ROLE IF EXISTS feedletter")
        connection.execute("CREATE ROLE feedletter LOGIN PASSWORD 'secret'")
        connection.execute("CREATE DATABASE feedletter OWNER feedletter")
    return postgres_url.split("@")[1].split("/")[0]


def here(text: str, places: dict[str, str]) -> str:
    """Replace Compose's hosts and ports by those on this machine."""
    for name, place in places.items():
        text = text.replace(name, place)
    return text


def start_of(service: compose.Service, places: dict[str, str]) -> tuple[list[str], dict[str, str]]:
    """Return the service's command and environment on this machine."""
    environment = {name: here(value, places) for name, value in service.environment.items()}
    return [here(part, places) for part in service.command], environment


@NIGHTLY
def test_a_feed_becomes_a_delivered_letter(
    image: Stage, database: str, redis_url: str, tmp_path: Path
) -> None:
    """In containers, of which only /tmp and DATA_DIR can be written to."""
    port = free_port()
    places = {"postgres:5432": database, "redis://redis:6379/0": redis_url}
    places["0.0.0.0:8000"] = places["127.0.0.1:8000"] = f"127.0.0.1:{port}"
    with ExitStack() as stack:
        mail, blog = stack.enter_context(SmtpServer()), stack.enter_context(Blog())
        variables = {
            **VARIABLES,
            "EMAIL_URL": mail.url,
            "ALLOW_PRIVATE_NETWORKS": "127.0.0.0/8",
            "POLL_HOST_GAP": "0",
        }
        services = compose.load(variables)
        command, environment = start_of(services.pop("migrate"), places)
        image.run(command, environment, tmp_path / "migrate")
        for service in services.values():
            command, environment = start_of(service, places)
            log = tmp_path / f"{service.name}.log"
            stack.enter_context(image.running(command, environment, tmp_path / service.name, log))
        until(lambda: answers(f"http://127.0.0.1:{port}/readyz"), "readyz")
        set_up(blog, environment)
        blog.publish(NEW)
        ping(environment)
        arrived(mail, LIMIT_SECONDS)
        for service in services.values():
            health = [here(part, places) for part in service.health]
            until(lambda: is_healthy(image, health, tmp_path / service.name), f"health of {service.name}")  # noqa: B023
        assert not is_healthy(image, services["worker-send"].health, tmp_path / "elsewhere")


def is_healthy(image: Stage, check: list[str], data: Path) -> bool:
    try:
        image.run(check, {}, data)
    except AssertionError:
        return False
    return True


def test_every_queue_has_one_deployment() -> None:
    served = [worker["args"][worker["args"].index("-Q") + 1].split(",") for worker in WORKERS.values()]
    routed = {route["queue"] for route in settings.CELERY_TASK_ROUTES.values()}
    assert sorted(queues[-1] for queues in served) == sorted(routed)
    assert [queue for queues in served for queue in queues[:-1]] == [settings.CELERY_TASK_DEFAULT_QUEUE]


def test_processes_are_started_as_by_compose() -> None:
    services = compose.load(VARIABLES)
    for name in ("migrate", "web", "beat"):
        assert PODS[name]["containers"][0]["command"] == services[name].command
    for worker in WORKERS.values():
        assert [*worker["command"], *worker["args"][:1]] == services["worker-send"].command[:-3]


def test_probes_ask_the_process_and_an_outage_of_the_database_restarts_nothing_at_once() -> None:
    for name, pod in OURS.items():
        container = pod["containers"][0]
        if name == "web":
            assert container["livenessProbe"]["httpGet"]["path"] == "/healthz"
            assert container["readinessProbe"]["httpGet"]["path"] == "/readyz"
        elif name != "migrate":
            live, ready = container["livenessProbe"], container["readinessProbe"]
            asked = ["python", "-I", "feedletter_site/alive.py", name.removeprefix("worker-")]
            assert live["exec"]["command"] == ready["exec"]["command"] == asked
            assert live["periodSeconds"] * live["failureThreshold"] == 1800
        if name in WORKERS:
            assert container["args"][:2] == ["-n", f"{asked[-1]}@%h"]


def test_pods_wait_for_the_migration() -> None:
    for name, pod in OURS.items():
        waits = [container["command"] for container in pod.get("initContainers", [])]
        assert waits == ([] if name == "migrate" else [["python", "manage.py", "migrate", "--check"]])


def test_containers_are_read_only_and_without_privileges() -> None:
    for pod in PODS.values():
        assert pod["securityContext"]["runAsNonRoot"]
        assert not pod["automountServiceAccountToken"]
        for container in [*pod["containers"], *pod.get("initContainers", [])]:
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }
            assert container["resources"]["limits"]["memory"]
    for pod in OURS.values():
        mounts = [mount["mountPath"] for mount in pod["containers"][0]["volumeMounts"]]
        assert mounts == ["/tmp", "/app/var"]  # noqa: S108 - in the container


def test_the_image_is_of_this_release() -> None:
    tag = ".".join(settings.VERSION.split(".")[:2])
    for path in (compose.ROOT / "docs").rglob("*"):
        if path.suffix in {".md", ".yml"}:
            assert set(re.findall(r"/feedletter:([\d.]*\d)", path.read_text(encoding="utf-8"))) <= {tag}, path


@NIGHTLY
def test_the_api_of_kubernetes_takes_every_object(tmp_path: Path) -> None:
    """By the schemas that come with kubernetes-validate, which is too large to be installed for all tests."""
    command = [sys.executable, "-m", "uv", "tool", "run", "kubernetes-validate==1.37.0", "--strict"]
    for number, item in enumerate(ITEMS):
        path = tmp_path / f"{number}.json"
        path.write_text(json.dumps(item))
        command.append(str(path))
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
