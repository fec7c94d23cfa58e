"""Pages about runs: one HTML file with all its pictures inside, made from run folders alone."""

from wakesleep.report.comparison import write_comparison
from wakesleep.report.page import write_report

__all__ = ["write_comparison", "write_report"]
