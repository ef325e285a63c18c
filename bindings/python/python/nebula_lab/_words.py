"""Keywords as the words of the command line."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any, Union

from ._laws import Law

Scalar = Union[str, int, float, bool, Law, "os.PathLike[str]", None]
Word = Union[Scalar, Iterable[Scalar], Mapping[str, Scalar]]


def plain(value: Any) -> str:
    """One value as a word: numbers without a type, a law as its spelling."""
    if isinstance(value, Law):
        return value.word
    if isinstance(value, (str, os.PathLike)):
        return os.fspath(value)
    if hasattr(value, "item"):  # a numpy scalar
        value = value.item()
    return repr(value) if isinstance(value, float) else str(value)


def flags(given: Mapping[str, Word]) -> list[str]:
    """``find_slo=True, load=[0.5, 0.9]`` as ``--find-slo``, ``--load=0.5,0.9``."""
    words: list[str] = []
    for name, value in given.items():
        flag = "--" + name.replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            words.append(flag)
        elif isinstance(value, Mapping):
            words.extend(f"{flag}={key}={plain(one)}" for key, one in value.items())
        elif isinstance(value, Iterable) and not isinstance(value, (str, os.PathLike)):
            words.append(f"{flag}={','.join(plain(one) for one in value)}")
        else:
            words.append(f"{flag}={plain(value)}")
    return words
