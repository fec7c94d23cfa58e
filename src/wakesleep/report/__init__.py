"""Pages about runs: one HTML file with all its pictures inside, made from run folders alone."""

from wakesleep.extras import need

need("report", "matplotlib", "jinja2")

from wakesleep.report.comparison import write_comparison  # noqa: E402
from wakesleep.report.page import write_report  # noqa: E402

__all__ = ["write_comparison", "write_report"]
