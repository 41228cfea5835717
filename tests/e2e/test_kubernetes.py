"""docs/examples/kubernetes.yml: the parts of docker-compose.yml, as a pod each."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml
from django.conf import settings

from tests.e2e import compose
from tests.e2e.test_compose import VARIABLES
from tests.examples import NIGHTLY

ITEMS: list[dict[str, Any]] = yaml.safe_load(
    (compose.ROOT / "docs" / "examples" / "kubernetes.yml").read_text(encoding="utf-8")
)["items"]
PODS = {
    i["metadata"]["name"]: i["spec"]["template"]["spec"] for i in ITEMS if "template" in i.get("spec", {})
}
OURS = {name: pod for name, pod in PODS.items() if name != "redis"}
WORKERS = {name: pod["containers"][0] for name, pod in OURS.items() if name.startswith("worker-")}


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
