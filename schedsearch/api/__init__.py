"""The Python API: what notebooks and scripts call. `schedsearch` itself names its entry points."""

from schedsearch.present import html

html.in_notebooks()
