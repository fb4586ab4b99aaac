"""Packages of the extra `notebook`, loaded when they are first used."""

from __future__ import annotations

from typing import Any

from schedsearch.core.errors import UserError


def pandas() -> Any:
    """The module. Raises UserError naming the extra that brings it."""
    try:
        import pandas as found
    except ModuleNotFoundError as error:
        raise UserError(
            "DataFrames need pandas: pip install 'schedsearch[notebook]'. Without it the command "
            "line shows the same: schedsearch list, best, show"
        ) from error
    return found


def plotly() -> Any:
    """`plotly.graph_objects`. Raises UserError naming the extra that brings it."""
    try:
        import plotly.graph_objects as found
    except ModuleNotFoundError as error:
        raise UserError("pictures need Plotly: pip install 'schedsearch[notebook]'") from error
    return found


def anywidget() -> Any:
    """The module. Raises UserError naming the extra that brings it."""
    try:
        import anywidget as found
    except ModuleNotFoundError as error:
        raise UserError("widgets need anywidget: pip install 'schedsearch[notebook]'") from error
    return found
