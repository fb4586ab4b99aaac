"""How does one search spend its budget: what it expands, builds, measures, books and confirms."""
