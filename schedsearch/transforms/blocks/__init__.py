"""How is a nest cut into blocks? Parts that composites share."""
