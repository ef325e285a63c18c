"""Figures in print quality, by matplotlib."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any, Optional

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ._result import Result


class Drawn(Figure):
    """A figure that notebooks show, with or without pyplot."""

    def _repr_png_(self) -> bytes:
        image = io.BytesIO()
        self.savefig(image, format="png", dpi=144)
        return image.getvalue()


_NAMES = {"ns": ("µs", 1e-3), "mrps": ("10⁶ RPC/s", 1.0)}
_MARKERS = "os^Dv<>Px*"
# Told apart in gray and by the color-blind (Okabe and Ito).
_COLORS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000"]


def _style(index: int) -> dict[str, Any]:
    return {"color": _COLORS[index % len(_COLORS)], "marker": _MARKERS[index % len(_MARKERS)]}


def _empty() -> "tuple[Drawn, Axes]":
    drawn = Drawn(figsize=(5.2, 3.4), layout="constrained")
    axes = drawn.subplots()
    axes.grid(True, linewidth=0.4, alpha=0.5)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    return drawn, axes


def ccdf(result: "Result", load: Optional[float]) -> Drawn:
    """A line for each distribution at this load, or at the highest."""
    loads = [one.load for one in result.histograms if one.load is not None]
    if not loads:
        raise ValueError("there are no distributions: simulate() at the queueing level has them")
    at = max(loads) if load is None else min(loads, key=lambda known: abs(known - load))
    drawn, axes = _empty()
    shown = [one for one in result.histograms if one.load == at]
    for index, one in enumerate(shown):
        axes.loglog(one.latency_ns_hi[:-1] * 1e-3, one.ccdf[:-1], label=one.policy, linewidth=1.4, color=_style(index)["color"])
    # Below a millionth of the RPCs there is one cell an RPC.
    axes.set_ylim(max(1e-6, 10 / float(shown[0].count.sum())), 1.0)
    axes.set_xlim(left=min(one.quantile(0.02) for one in shown) * 1e-3)
    axes.set_xlabel("latency (µs)")
    axes.set_ylabel("share of RPCs that took longer")
    axes.legend(frameon=False, fontsize=8, title=f"load {at:g}")
    return drawn


def figure(result: "Result", y: str, x: str, by: Optional[str]) -> Drawn:
    """A line for each value of ``by``."""
    columns = result.columns
    group = by or next((name for name in ("system", "design", "policy") if name in columns), None)
    unit, scale = next((_NAMES[part] for part in y.split("_") if part in _NAMES), ("", 1.0))
    drawn, axes = _empty()
    labels = result[group] if group else np.array([""] * len(result), dtype=object)
    for index, label in enumerate(dict.fromkeys(labels)):
        is_in = labels == label
        at, value = result[x][is_in], result[y][is_in] * scale
        order = np.argsort(at)
        style = _style(index)
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
    if group:
        axes.legend(frameon=False, fontsize=8, title=group)
    return drawn


def _title(column: str) -> str:
    return " ".join(part for part in column.split("_") if part not in _NAMES)
