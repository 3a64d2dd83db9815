"""What happens when data, runs and processes grow; `python -m benchmarks.scaling` writes docs/scaling.md."""
