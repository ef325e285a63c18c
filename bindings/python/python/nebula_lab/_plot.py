"""Figures in print quality, by matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional

import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ._result import Result

_NAMES = {"ns": ("µs", 1e-3), "mrps": ("10⁶ RPC/s", 1.0)}
_MARKERS = "os^Dv<>Px*"
# Told apart in gray and by the color-blind (Okabe and Ito).
_COLORS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000"]


def figure(result: "Result", y: str, x: str, by: Optional[str]) -> "Figure":
    """A line for each value of ``by``."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    columns = result.columns
    group = by or next((name for name in ("system", "design", "policy") if name in columns), None)
    unit, scale = next((_NAMES[part] for part in y.split("_") if part in _NAMES), ("", 1.0))
    drawn = Figure(figsize=(5.2, 3.4), layout="constrained")
    axes = drawn.subplots()
    labels = result[group] if group else np.array([""] * len(result), dtype=object)
    for index, label in enumerate(dict.fromkeys(labels)):
        is_in = labels == label
        at, value = result[x][is_in], result[y][is_in] * scale
        order = np.argsort(at)
        style: dict[str, Any] = {"color": _COLORS[index % len(_COLORS)], "marker": _MARKERS[index % len(_MARKERS)]}
        axes.plot(at[order], value[order], label=str(label), linewidth=1.4, markersize=4, **style)
        if f"{y}_lo" in columns:
            low, high = result[f"{y}_lo"][is_in] * scale, result[f"{y}_hi"][is_in] * scale
            axes.fill_between(at[order], low[order], high[order], color=style["color"], alpha=0.18, linewidth=0)
    if y.startswith("latency") and "slo_ns" in columns:
        slo = float(result["slo_ns"][0]) * scale
        axes.axhline(slo, color="0.35", linestyle="--", linewidth=0.9)
        axes.annotate(f"SLO {slo:g} {unit}", (0.01, slo), xycoords=("axes fraction", "data"), va="bottom", fontsize=8, color="0.35")
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda tick, _: f"{tick:g}"))
        axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel(x.replace("_", " ") + (" (share of core time)" if x == "load" else ""))
    axes.set_ylabel(_title(y) + (f" ({unit})" if unit else ""))
    axes.grid(True, linewidth=0.4, alpha=0.5)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    if group:
        axes.legend(frameon=False, fontsize=8, title=group)
    return drawn


def _title(column: str) -> str:
    return " ".join(part for part in column.split("_") if part not in _NAMES)
