"""The release workflow: its scripts are carried out here, its actions are not."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.e2e import compose
from tests.examples import NIGHTLY

WORKFLOWS = sorted((compose.ROOT / ".github" / "workflows").glob("*.yml"))
RELEASE: dict[str, Any] = yaml.safe_load(
    (compose.ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")
)
IMAGE = "ghcr.io/somebody/feedletter:0.1.0@sha256:" + "0" * 64


def script(job: str, name: str) -> str:
    (step,) = (step for step in RELEASE["jobs"][job]["steps"] if step.get("name") == name)
    return str(step["run"])


def carry_out(script: str, folder: Path, **variables: str) -> "subprocess.CompletedProcess[str]":
    environment = {"PATH": f"{folder}:{os.environ['PATH']}", "GITHUB_REF_NAME": "v0.1.0", **variables}
    command = ["bash", "-e", "-o", "pipefail", "-c", script]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_actions_are_pinned_to_a_commit(path: Path) -> None:
    used = re.findall(r"uses: (?!\./)(.+)", path.read_text(encoding="utf-8"))
    assert used
    assert [each for each in used if not re.fullmatch(r"\S+@[0-9a-f]{40} # v\d+\.\d+\.\d+", each)] == []


def test_nothing_is_published_before_the_tests_pass_and_the_tag_is_the_version() -> None:
    for job in ("pypi", "image"):
        assert RELEASE["jobs"][job]["needs"] == ["test", "package"]
    assert RELEASE["jobs"]["release"]["needs"] == ["pypi", "image"]


@pytest.mark.parametrize(("built", "code"), [("0.1.0", 0), ("0.1.0.dev0", 1), ("0.1.1", 1)])
def test_a_tag_that_is_not_the_version_is_refused(tmp_path: Path, built: str, code: int) -> None:
    (tmp_path / "dist").mkdir()
    (tmp_path / "dist" / f"feedletter-{built}-py3-none-any.whl").touch()
    done = carry_out(script("package", "Compare the tag with the version"), tmp_path)
    assert done.returncode == code
    assert done.stdout.startswith("::error::v0.1.0 is not") == bool(code)


def test_the_image_has_two_platforms_an_sbom_and_its_provenance() -> None:
    (step,) = (step for step in RELEASE["jobs"]["image"]["steps"] if step.get("id") == "build")
    assert step["with"]["platforms"] == "linux/amd64,linux/arm64"
    assert (step["with"]["sbom"], step["with"]["provenance"]) == (True, "mode=max")


def test_the_files_of_a_release_name_its_image_and_the_notes_are_of_its_version(tmp_path: Path) -> None:
    for name in ("docker-compose.yml", "CHANGELOG.md", "docs/examples/kubernetes.yml", "dist"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        if (compose.ROOT / name).is_file():
            (tmp_path / name).write_text((compose.ROOT / name).read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "dist").mkdir(exist_ok=True)
    (tmp_path / "gh").write_text('#!/bin/sh\necho "$@"\n')
    (tmp_path / "gh").chmod(0o700)
    done = carry_out(script("release", "Create the release"), tmp_path, IMAGE=IMAGE)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("release create v0.1.0 --verify-tag")
    assert done.stdout.split()[-2:] == ["dist/docker-compose.yml", "dist/kubernetes.yml"]
    services = yaml.safe_load((tmp_path / "dist" / "docker-compose.yml").read_text())["services"]
    assert services["web"]["image"] == f"${{FEEDLETTER_IMAGE:-{IMAGE}}}"
    assert not any("build" in service for service in services.values())
    items = yaml.safe_load((tmp_path / "dist" / "kubernetes.yml").read_text())["items"]
    pods = [item["spec"]["template"]["spec"] for item in items if "template" in item.get("spec", {})]
    assert {pod["containers"][0]["image"] for pod in pods} == {IMAGE, "redis:7-alpine"}
    notes = (tmp_path / "notes.md").read_text(encoding="utf-8")
    assert "### " in notes
    assert "\n## " not in notes


@NIGHTLY
def test_zizmor_finds_nothing_unsafe_in_the_workflows() -> None:
    zizmor = [
        sys.executable,
        "-m",
        "uv",
        "tool",
        "run",
        "zizmor==1.32.0",
        "--offline",
        "--min-severity=medium",
    ]
    command = [*zizmor, str(compose.ROOT / ".github")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
