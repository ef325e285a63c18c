"""The pages name what there is."""

from __future__ import annotations

import re
from pathlib import Path

import nebula_lab as lab

PAGE = Path(__file__).parents[3] / "docs" / "PYTHON.md"


def test_every_public_name_is_on_the_page() -> None:
    page = PAGE.read_text(encoding="utf-8")
    missing = [name for name in lab.__all__ if name != "__version__" and not re.search(rf"\b{name}\b", page)]
    assert not missing


def test_what_the_page_says_of_a_result_is_there() -> None:
    page = PAGE.read_text(encoding="utf-8")
    table = page.split("| of a result |")[1].split("| exception |")[0]
    for name in re.findall(r"`(\w+)\(", table):
        assert hasattr(lab.Result, name) or hasattr(lab.Histogram, name), name
    assert {"lines", "asked", "errors"} <= set(re.findall(r"\w+", table))
