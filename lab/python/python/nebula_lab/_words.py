"""Keywords as the words of the command line."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any, Union

from ._laws import Law
from ._own import Policy

Scalar = Union[str, int, float, bool, Law, Policy, "os.PathLike[str]", None]
Word = Union[Scalar, Iterable[Scalar], Mapping[str, Scalar]]


def plain(value: Any) -> str:
    """One value as a word: numbers without a type, a law as its spelling."""
    if isinstance(value, Law):
        return value.word
    if isinstance(value, Policy):
        raise TypeError("a policy of your own is for policy= of simulate and find_slo alone")
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


def policies(given: Mapping[str, Word]) -> tuple[dict[str, Word], list[Policy]]:
    """The words without own policies, and these."""
    value = given.get("policy")
    several = [value] if isinstance(value, (str, Policy)) else list(value) if isinstance(value, Iterable) else []
    own = [one for one in several if isinstance(one, Policy)]
    if not own:
        return dict(given), []
    return {**given, "policy": [one for one in several if not isinstance(one, Policy)] or None}, own
