"""The image: each instruction of the Dockerfile is carried out, and the service runs in what it makes."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.image import Stage
from tests.e2e.journey import NEW, READER, SECRET, Blog, arrived
from tests.e2e.processes import ROOT, answers, until
from tests.examples import NIGHTLY
from tests.servers.smtp_server import SmtpServer
from tests.services import free_port

pytestmark = NIGHTLY

LIMIT_SECONDS = 60


def test_it_is_not_root_and_has_no_file_that_its_user_could_change(image: Stage) -> None:
    assert image.user > 0
    folders = [image.root / name for name in ("app", "venv")]
    paths = [path for folder in folders for path in folder.rglob("*") if not path.is_symlink()]
    writable = {
        str(path.relative_to(image.root))
        for path in paths
        if path.stat().st_uid or path.stat().st_mode & 0o002
    }
    assert writable == {"app/var", "app/var/media"}


def test_a_container_sends_a_letter_and_writes_only_to_its_volume_and_tmp(
    image: Stage, tmp_path: Path
) -> None:
    port, data = free_port(), tmp_path / "data"

    def manage(*words: str) -> None:
        image.run(["python", "manage.py", *words], environment, data)

    command, health = (
        [word.replace(":8000", f":{port}") for word in each] for each in (image.command, image.health)
    )
    with SmtpServer() as mail, Blog() as blog:
        environment = {"SECRET_KEY": SECRET, "EMAIL_URL": mail.url, "POLL_HOST_GAP": "0"}
        environment |= {"ALLOW_PRIVATE_NETWORKS": "127.0.0.0/8", "SITE_URL": "https://news.example.org"}
        with image.running(command, environment, data, tmp_path / "up.log"):
            until(lambda: answers(f"http://127.0.0.1:{port}/readyz"), "readyz")
            manage("add_feed", blog.feed, "--ping")
            manage("define_subscribable", "starlight", "--feed", "1")
            manage("subscribe", "starlight", "--email", READER)
            blog.publish(NEW)
            manage("poll", "--all")
            arrived(mail, LIMIT_SECONDS)
            image.run(health, environment, data)
        with pytest.raises(AssertionError, match="has not finished anything yet, or has ended"):
            image.run(health, environment, data)


def test_no_package_of_the_image_needs_a_compiler_on_either_platform() -> None:
    """Except grapheme, which is Python alone and has no wheel."""
    compile = [sys.executable, "-m", "uv", "pip", "compile", "--quiet", "--only-binary", ":all:"]
    compile += [
        "--no-binary",
        "grapheme",
        str(ROOT / "requirements" / "base.txt"),
        "--python-version",
        "3.13",
    ]
    for platform in ("x86_64-manylinux_2_28", "aarch64-manylinux_2_28"):
        subprocess.run([*compile, "--python-platform", platform], stdout=subprocess.DEVNULL, check=True)
