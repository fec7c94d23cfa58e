"""What the site's build adds to the pages: the reference, and links that leave docs/."""

import importlib
import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError

ROOT = Path(__file__).parents[1]
REFERENCE = "<!-- reference -->"
HEADINGS = {
    "architecture": "Machines",
    "model": "Machines",
    "data": "Data",
    "training": "Training",
    "evaluation": "Judging",
    "storage": "Storing",
    "estimators": "Extending",
    "layers": "Extending",
    "errors": "Errors",
}


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Fill in the reference, and make links to files outside docs/ plain names."""
    if REFERENCE in markdown:
        return markdown.replace(REFERENCE, reference())
    here = (ROOT / "docs" / page.file.src_uri).parent
    return re.sub(
        r"\[([^\]]+)\]\(((?:\.\./)+[^)#]+)\)", lambda m: _outside(m, here, page), markdown
    )


def reference() -> str:
    """One entry for every public name, under the heading of the module it lives in."""
    sections: dict[str, list[str]] = {}
    for home, names in _public_names().items():
        heading = HEADINGS.get(home.split(".")[1], home.split(".")[1].capitalize())
        sections.setdefault(heading, []).extend(f"::: {home}.{name}" for name in names)
    return "\n\n".join(
        f"## {heading}\n\n" + "\n\n".join(entries) for heading, entries in sections.items()
    )


def on_post_build(config: Any, **_: Any) -> None:
    """The built site is whole: nothing undocumented, nothing loaded from elsewhere."""
    _check_reference(Path(config["site_dir"]) / "reference.html")
    for path in Path(config["site_dir"]).rglob("*.html"):
        found = re.search(
            r'(?:src=|<link rel="(?:stylesheet|preconnect)" href=)"(?:https?:)?//[^"]*',
            path.read_text(encoding="utf-8"),
        )
        if found:
            raise PluginError(f"{path.name} loads from a network: {found[0]}")


def _check_reference(path: Path) -> None:
    """Every public name is there, with words of its own."""
    page = path.read_text(encoding="utf-8")
    for home, names in _public_names().items():
        for name in names:
            found = re.search(
                rf'<h3 id="{re.escape(home)}(?:\.\w+)*\.{name}".*?(?=<h[23] |</article>)',
                page,
                re.DOTALL,
            )
            if not found or "<p>" not in found[0]:
                raise PluginError(f"the public name {name} ({home}) is not documented")


def _outside(match: re.Match[str], here: Path, page: Any) -> str:
    text, target = match.groups()
    path = (here / target).resolve()
    if path.is_relative_to(ROOT / "docs"):
        return match[0]
    if not path.exists():
        raise PluginError(f"{page.file.src_uri} links to {target}, which does not exist")
    return text


def _public_names() -> dict[str, tuple[str, ...]]:
    """As the package's own table has them; its import loads nothing heavy."""
    source = str(ROOT / "src")
    if source not in sys.path:
        sys.path.insert(0, source)
    names: dict[str, tuple[str, ...]] = importlib.import_module("wakesleep")._HOMES
    return names
