"""What schedsearch is measured with; not part of the package that is installed."""
