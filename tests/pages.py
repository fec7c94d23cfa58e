"""The pages people read, and the code that stands on them."""

import re
import sys
import types
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


class Block(NamedTuple):
    """A fenced block of Python; `name` is the file it is, if its first line says so."""

    page: str
    name: str | None
    code: str


def page_name(path):
    return str(path.relative_to(ROOT))


def python_blocks(page):
    """The Python of a page such as `docs/extending.md`, in order."""
    fenced = re.findall(
        r"```python\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL
    )
    titles = [re.match(r"# ([\w/]+\.py)\n", code) for code in fenced]
    return [
        Block(page, title[1] if title else None, code)
        for title, code in zip(titles, fenced, strict=True)
    ]


def indented_blocks(page):
    """The indented blocks of a page, each as its lines without the indentation."""
    text = re.sub(r"```.*?```", "", (ROOT / page).read_text(encoding="utf-8"), flags=re.DOTALL)
    return [
        re.sub(r"(?m)^ {4}", "", block)
        for block in re.findall(r"(?m)(?:^\n)((?:^ {4,}.*\n)+)", text)
    ]


def run_block(block, names=None):
    """Run a block as a module of its own, in which its classes can look up their annotations."""
    stem = Path(block.name or block.page).stem.replace("-", "_")
    module = types.ModuleType(f"page_{stem}")
    sys.modules[module.__name__] = module
    vars(module).update(names or {})
    exec(compile(block.code, f"{block.page}: {block.name or 'code'}", "exec"), vars(module))
    return module
