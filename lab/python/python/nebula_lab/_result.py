"""What a question answers."""

from __future__ import annotations

import csv
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Optional, Union

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import os

    import pandas
    from matplotlib.figure import Figure

Cell = Union[str, int, float, bool, None]
Row = dict[str, Cell]


class Unsettled(UserWarning):
    """What to know before believing a row: too little was simulated, or a search ended at its own bound."""


@dataclass(frozen=True)
class Histogram:
    """The distribution of the latency of the RPCs served at a point, over all replications: cells of three significant digits."""

    policy: str
    load: Optional[float]
    latency_ns_lo: NDArray[np.float64]
    """The lowest nanoseconds of each cell."""
    latency_ns_hi: NDArray[np.float64]
    """The highest nanoseconds of each cell."""
    count: NDArray[np.uint64]
    """RPCs in each cell."""

    @property
    def ccdf(self) -> NDArray[np.float64]:
        """The share of the RPCs served that took longer than ``latency_ns_hi``."""
        below = np.cumsum(self.count, dtype=np.float64)
        longer: NDArray[np.float64] = 1.0 - below / below[-1]
        return longer

    def quantile(self, share: float) -> float:
        """The nanoseconds that a share ``share`` of the RPCs served does not exceed, to 0.1 %."""
        below = np.cumsum(self.count, dtype=np.float64)
        cell = int(np.searchsorted(below, share * below[-1]))
        return float(self.latency_ns_lo[cell] + self.latency_ns_hi[cell]) / 2

    @classmethod
    def of(cls, policy: str, load: Optional[float], lo: bytes, hi: bytes, count: bytes) -> "Histogram":
        """From the bytes of its arrays."""
        return cls(policy, load, np.frombuffer(lo), np.frombuffer(hi), np.frombuffer(count, dtype=np.uint64))


@dataclass(frozen=True)
class Trace:
    """Each RPC of one run of a point, in the order in which they were sent."""

    policy: str
    load: Optional[float]
    arrival_ns: NDArray[np.float64]
    """When it reached the server."""
    core: NDArray[np.int32]
    """The core that served it; -1 if it was refused."""
    start_ns: NDArray[np.float64]
    """When its core began it; NaN if it was refused."""
    end_ns: NDArray[np.float64]
    """When it ended; NaN if it was refused."""

    @classmethod
    def of(cls, policy: str, load: Optional[float], arrival: bytes, core: bytes, start: bytes, end: bytes) -> "Trace":
        """From the bytes of its arrays."""
        times = [np.frombuffer(one) for one in (arrival, start, end)]
        return cls(policy, load, times[0], np.frombuffer(core, dtype=np.int32), times[1], times[2])


class Result(Sequence[Row]):
    """Rows with one value a column, and units in the columns' names: ``latency_ns_p99``, ``throughput_mrps``.

    ``x_lo`` and ``x_hi`` are the ends of the 95 % interval of ``x``. docs/FIELDS.md describes every column.
    """

    def __init__(
        self,
        rows: list[Row],
        notes: Sequence[str] = (),
        replications: Optional[list[Row]] = None,
        histograms: Sequence[Histogram] = (),
        said: Sequence[str] = (),
    ) -> None:
        self._rows = rows
        self.notes = list(notes)
        """What to know before believing a row; given as warnings too."""
        self.said = list(said)
        """The answer in sentences, where there is one: of ``size`` with a ``rate``."""
        self.replications = replications or []
        """A row for each replication of each point; of ``simulate`` at the queueing level."""
        self.histograms = list(histograms)
        """The distribution of the latency at each point; of ``simulate`` at the queueing level."""

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows)

    def __getitem__(self, key: Any) -> Any:
        """A row by its place, or a column by its name: numbers as ``float64`` with NaN where there is none, all else as objects."""
        if isinstance(key, str):
            return self._column(key)
        return self._rows[key]

    @property
    def columns(self) -> list[str]:
        """The names of all columns, in order."""
        return list(dict.fromkeys(name for row in self._rows for name in row))

    def _column(self, name: str) -> NDArray[Any]:
        if not any(name in row for row in self._rows):
            raise KeyError(f"no column {name!r}: there are {', '.join(self.columns)}")
        values = [row.get(name) for row in self._rows]
        is_number = all(value is None or (isinstance(value, (int, float)) and not isinstance(value, bool)) for value in values)
        if is_number and any(value is not None for value in values):
            return np.array([np.nan if value is None else value for value in values], dtype=np.float64)
        return np.array(values, dtype=object)

    def to_pandas(self) -> "pandas.DataFrame":
        """A data frame with a row for each row, and the columns in order. Needs pandas."""
        import pandas

        return pandas.DataFrame(self._rows, columns=self.columns)

    def to_csv(self, path: "Union[str, os.PathLike[str]]") -> None:
        """Writes a header and one value a cell; what does not exist is empty."""
        with open(path, "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, self.columns, restval="", lineterminator="\n")
            writer.writeheader()
            writer.writerows(self._rows)

    def to_parquet(self, path: "Union[str, os.PathLike[str]]") -> None:
        """Writes a Parquet file. Needs pyarrow."""
        import pyarrow
        import pyarrow.parquet

        table = pyarrow.table({name: [row.get(name) for row in self._rows] for name in self.columns})
        pyarrow.parquet.write_table(table, path)

    def plot(self, y: str = "latency_ns_p99", x: str = "load", by: Optional[str] = None) -> "Figure":
        """The column ``y`` over ``x``, a line for each value of ``by``, with intervals and the SLO. Needs matplotlib.

        ``by`` is the first of ``system``, ``design`` and ``policy`` that there is, unless given. Save it with ``.savefig("p99.pdf")``.
        """
        from ._plot import figure

        return figure(self, y, x, by)

    def plot_ccdf(self, load: Optional[float] = None) -> "Figure":
        """The share of RPCs that took longer, over the latency: a line for each policy at the highest load, or at the one nearest to ``load``.

        Raises ``ValueError`` if there are no distributions. Needs matplotlib.
        """
        from ._plot import ccdf

        return ccdf(self, load)

    def warn(self) -> None:
        """Gives the notes as warnings, as the program prints them."""
        for note in self.notes:
            warnings.warn(note.removeprefix("note: "), Unsettled, stacklevel=4)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {len(self)} rows of {len(self.columns)} columns>"
