import os
from typing import Any, Callable, Optional, TypedDict, Union

from ._result import Result, Row

__version__: str

Sent = tuple[str, list[str], list[tuple[str, str]]]

class BadInput(ValueError): ...

class Fault(RuntimeError):
    result: Result

class Asked(TypedDict):
    rows: list[Row]
    replications: list[Row]
    histograms: list[tuple[str, Optional[float], bytes, bytes, bytes]]
    said: list[str]
    notes: list[str]
    failure: Optional[str]

Given = tuple[str, Optional[int], Union[int, Callable[[bytes, int, int], int]]]

def ask(
    question: str,
    words: list[str],
    told: Optional[Callable[[int, int], Any]] = None,
    policies: Optional[list[Given]] = None,
    are_all: bool = False,
) -> Asked: ...
def trace(words: list[str]) -> list[tuple[str, Optional[float], bytes, bytes, bytes, bytes]]: ...
def points(study: str) -> list[Sent]: ...
def ask_points(points: list[Sent]) -> list[str]: ...
def lost(sent: Sent, why: str) -> str: ...
def rows_of(line: str) -> tuple[list[Row], list[str], Optional[str]]: ...
def cache_folder() -> Optional[str]: ...

class Cache:
    def __init__(self, folder: Union[str, "os.PathLike[str]"]) -> None: ...
    def find(self, sent: Sent) -> Optional[str]: ...
    def keep(self, sent: Sent, line: str) -> None: ...
