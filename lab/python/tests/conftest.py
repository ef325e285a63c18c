"""What the tests share."""

from __future__ import annotations

import json
import os
import subprocess
import warnings
from typing import Any

import pytest

import nebula_lab as lab


@pytest.fixture(autouse=True)
def unsettled_is_no_matter() -> Any:
    """So few RPCs settle nothing; what is tested is that the numbers are the same."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lab.Unsettled)
        yield


def program(*words: str) -> list[dict[str, Any]]:
    """The rows of JSON of the program, which `cargo xtask python` built and names."""
    ended = subprocess.run([os.environ["NEBULA"], *words, "--format", "json"], check=True, capture_output=True, text=True)
    return [json.loads(line) for line in ended.stdout.splitlines()]
