"""Pictures of a search, by Plotly, of the frames in `api/statistics.py`.

Every text from a store is escaped: Plotly reads tags in labels.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from itertools import cycle
from typing import TYPE_CHECKING, Any

from schedsearch.api.statistics import grids
from schedsearch.core.numbers import duration
from schedsearch.present.extras import plotly
from schedsearch.present.html import BLUE, GREEN, GREY, RED

if TYPE_CHECKING:
    import pandas as pd
    from plotly.graph_objects import Figure

    from schedsearch.api.searched import Search

SPEEDUP = "times as fast as written"
GRIDS = 3
"""Heat maps side by side."""
BINDING = "#d95f02"
"""Of the roof that binds."""
MOST = 14
"""Bars or boxes of one picture: what is rarer is left out, and said to be."""


@dataclass(frozen=True)
class Plots:
    """Plotly figures of the frames with the same names; called, that of `convergence`. Where
    there is nothing to draw (no numbers, no roofline), None."""

    statistics: Search

    def __call__(self) -> Figure:
        """`convergence`: how the search got to its best."""
        return self.convergence()

    def convergence(self) -> Figure:
        """The best speed-up so far, over time and over candidates; a line for each run."""
        go = plotly()
        from plotly import colors as colours
        from plotly.subplots import make_subplots

        figure = make_subplots(rows=1, cols=2, shared_yaxes=True, horizontal_spacing=0.04)
        curves = self.statistics.convergence()
        for (run, frame), colour in zip(curves.groupby("run"), cycle(colours.qualitative.D3)):
            for column, axis in enumerate(("seconds", "candidate"), 1):
                curve = {"x": frame[axis], "y": frame["best_so_far"], "mode": "lines"}
                dots = {"x": frame[axis], "y": frame["speedup"], "mode": "markers"}
                same = {"name": f"run {run}", "legendgroup": str(run)}
                line = {"shape": "hv", "color": colour}
                figure.add_trace(
                    go.Scatter(**curve, **same, line=line, showlegend=column == 1),
                    row=1,
                    col=column,
                )
                marker = {"size": 4, "color": GREY, "opacity": 0.5}
                figure.add_trace(
                    go.Scatter(**dots, **same, marker=marker, showlegend=False), row=1, col=column
                )
        figure.update_xaxes(title_text="seconds since the run began", row=1, col=1)
        figure.update_xaxes(title_text="candidates measured", row=1, col=2)
        figure.update_yaxes(title_text=SPEEDUP, row=1, col=1)
        return _framed(figure.update_yaxes(**_logarithmic(curves["speedup"])), "Best so far")

    def outcomes(self) -> Figure:
        """Outcomes of the candidates of each transform."""
        frame = self.statistics.outcomes()
        totals = frame.groupby("transform")["candidates"].sum().sort_values()
        shown = totals.index[-MOST:]
        go, figure = plotly(), plotly().Figure()
        for outcome, own in frame[frame["transform"].isin(shown)].groupby("outcome"):
            figure.add_trace(
                go.Bar(
                    y=_escaped(own["transform"]),
                    x=own["candidates"],
                    name=escape(str(outcome)),
                    marker={"color": _COLOURS.get(str(outcome))},  # None: Plotly's next
                    orientation="h",
                )
            )
        figure.update_layout(barmode="stack", yaxis={"categoryarray": _escaped(shown)})
        figure.update_xaxes(title_text="candidates")
        return _framed(figure, f"What became of the candidates{_left_out(totals)}")

    def stage_times(self) -> Figure:
        """Seconds by stage."""
        frame = self.statistics.stage_times()[::-1]
        bars = plotly().Bar(
            y=_escaped(frame["stage"]),
            x=frame["seconds"],
            text=[duration(seconds) for seconds in frame["seconds"]],
            orientation="h",
            marker={"color": BLUE},
        )
        figure = plotly().Figure(bars).update_xaxes(title_text="seconds, of all workers together")
        return _framed(figure, "Where the time went")

    def gains(self) -> Figure:
        """How much faster a schedule was than its parent, by transform of the step between."""
        frame = self.statistics.gains()
        medians = frame.groupby("transform")["gain"].median().sort_values()
        figure = plotly().Figure()
        for transform in medians.index[-MOST:]:
            own = frame[frame["transform"] == transform]
            figure.add_trace(
                plotly().Box(
                    x=own["gain"],
                    name=escape(f"{transform} ({len(own)})"),
                    text=_escaped(own["rewrite"]),
                    boxpoints="all",
                    pointpos=0,
                    jitter=0.3,
                    marker={"size": 4, "color": BLUE},
                )
            )
        figure.update_xaxes(**_logarithmic(frame["gain"]), title_text="times as fast as its parent")
        figure.update_layout(showlegend=False)
        figure.add_vline(x=1.0, line={"color": GREY, "dash": "dot"})
        return _framed(figure, f"What single rewrites gained{_left_out(medians)}")

    def arguments(self) -> Figure | None:
        """Best speed-ups by numbers of rewrites, such as tile sizes, for the transforms with most
        of them; None if none vary."""
        shown = grids(self.statistics.arguments())[:GRIDS]
        if not shown:
            return None
        go = plotly()
        from plotly.subplots import make_subplots

        titles = [escape(grid.transform) for grid in shown]
        # Room between them for the names of the next one's rows.
        gap = 0.14 if len(shown) > 1 else 0.0
        figure = make_subplots(
            rows=1, cols=len(shown), subplot_titles=titles, horizontal_spacing=gap
        )
        for column, grid in enumerate(shown, 1):
            cells = go.Heatmap(
                z=grid.best.to_numpy(),
                x=[str(value) if grid.second else "" for value in grid.best.columns],
                y=[str(value) for value in grid.best.index],
                coloraxis="coloraxis",
                texttemplate="%{z:.3g}",
                hoverongaps=False,
            )
            figure.add_trace(cells, row=1, col=column)
            place = {"type": "category", "row": 1, "col": column}
            figure.update_xaxes(title_text=escape(grid.second), **place)
            figure.update_yaxes(title_text=escape(grid.first), **place)
        bar = {"title": {"text": SPEEDUP, "side": "right"}}
        figure.update_layout(coloraxis={"colorscale": "Viridis", "colorbar": bar})
        framed = _framed(figure, "Best speed-up by arguments")
        return framed.update_layout(margin={"t": 80})  # each has a title of its own

    def roofline(self) -> Figure | None:
        """Every verified schedule below what the machine can do: its peak for these operations,
        and the bandwidth of each level of memory (`Search.ceilings`); what binds is coloured. All
        are at one intensity, the procedure's: its operations per byte that it has to move, whatever
        a schedule moves more. None if it has no roofline, arithmetic or traffic."""
        roof, frame = self.statistics.roof, self.statistics.roofline()
        if roof is None or frame is None:
            return None
        intensity = roof.compute_s * roof.peak / (roof.memory_s * roof.bandwidth)
        ridge = roof.peak / roof.bandwidth
        ends = min(intensity, ridge) / 8, max(intensity, ridge) * 8
        go = plotly()
        figure = go.Figure()
        own = f"{roof.level}, {roof.bandwidth:.3g} GB/s"
        others = [(f"{name}, {rate:.3g} GB/s", rate) for name, rate in self.statistics.ceilings]
        slopes = [*others, (own, roof.bandwidth)]
        for name, rate in slopes:
            at = roof.peak / rate
            binds = name == own and roof.limit == "memory"
            x = [min(ends[0], at / 2), at]
            y = [rate * each for each in x]
            figure.add_trace(_roof(x, y, name, binds, name == own))
        flat = [min(roof.peak / max(rate for _, rate in slopes), ends[1])]
        what = "all its operations" if roof.of_functions else f"{roof.kind} peak"
        top = f"{what}, {roof.peak:.3g} {roof.unit}"
        peak = [roof.peak, roof.peak]
        figure.add_trace(_roof([*flat, ends[1]], peak, top, roof.limit == "compute", True))
        figure.add_trace(
            go.Scatter(
                x=frame["intensity"],
                y=frame["rate"],
                mode="markers",
                name="schedules",
                text=_escaped(frame["rewrite"]),
                marker={"color": BLUE, "opacity": 0.5},
            )
        )
        for name, colour, rows in (
            ("as written", RED, frame[frame["rewrite"] == ""]),
            ("best", GREEN, frame.nlargest(1, "speedup")),
        ):
            marker = {"color": colour, "size": 11}
            figure.add_trace(
                go.Scatter(
                    x=rows["intensity"], y=rows["rate"], mode="markers", name=name, marker=marker
                )
            )
        moved = "operations per byte that a call has to load or store"
        figure.update_xaxes(type="log", title_text=moved)
        figure.update_yaxes(type="log", title_text=escape(roof.unit))
        return _framed(figure, "Roofline")


def _roof(x: list[float], y: list[float], name: str, binds: bool, own: bool) -> Any:
    """A line of the roofline: coloured if it binds, dotted if the procedure's arrays are in another
    level."""
    line = {
        "color": BINDING if binds else GREY,
        "width": 3 if binds else 1.5,
        "dash": "solid" if own else "dot",
    }
    label = escape(f"{name} (binds)" if binds else name)
    return plotly().Scatter(x=x, y=y, mode="lines", name=label, line=line, hoverinfo="name")


def _logarithmic(values: pd.Series[float]) -> dict[str, str]:
    """An axis. Over a decade all digits from 2 to 9 as labels crowd each other."""
    wide = len(values) > 0 and values.max() > 8 * values.min()
    return {"type": "log", **({"dtick": "D2"} if wide else {})}


def _framed(figure: Figure, title: str) -> Figure:
    return figure.update_layout(
        title={"text": title, "font": {"size": 15}},
        template="plotly_white",
        margin={"l": 10, "r": 10, "t": 44, "b": 10},
        xaxis_automargin=True,
        yaxis_automargin=True,
    )


_COLOURS = {
    "correct": GREEN,
    "legal, not measured": "#dcdcdc",
    "duplicate (same ast)": "#b8b8b8",
    "duplicate (same code)": "#999999",
    "duplicate (same binary)": "#7a7a7a",
    "illegal": RED,
}
"""Of outcomes; grey ones are no mistakes."""


def _left_out(totals: pd.Series[Any]) -> str:
    left = len(totals) - MOST
    return f" ({left} transforms left out)" if left > 0 else ""


def _escaped(texts: Any) -> list[str]:
    return [escape(str(text)) for text in texts]
