"""People's tables: our defaults beside what is at hand. `python -m benchmarks.tables`."""
