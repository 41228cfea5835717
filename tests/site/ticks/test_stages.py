"""Each stage is registered under the name that beat uses."""

import pytest

from feedletter_site.celery import app
from feedletter_site.ticks.schedule import STAGES

pytestmark = pytest.mark.django_db


def test_each_stage_runs_where_there_is_nothing_to_do() -> None:
    app.loader.import_default_modules()
    failed = {stage: result.result for stage in STAGES if (result := app.tasks[stage].apply()).failed()}
    assert failed == {}
