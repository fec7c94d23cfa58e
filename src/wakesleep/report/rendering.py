"""Templates to a page on disk."""

from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

import wakesleep
from wakesleep.atomic import write_atomically


def write_page(path: Path, template: str, **values: Any) -> Path:
    """Fill a template and write it; every value is escaped unless it is markup of ours."""
    environment = Environment(
        loader=PackageLoader("wakesleep", "report/templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = number
    page = environment.get_template(template).render(version=wakesleep.__version__, **values)
    write_atomically(path, page.encode())
    return path


def number(value: float | None, digits: int = 2) -> str:
    """With thousands apart and a true minus sign; a dash for what is not known."""
    return "–" if value is None else f"{value:,.{digits}f}".replace("-", "−")
