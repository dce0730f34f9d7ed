"""Every template compiles, and none of them needs script that our content policy forbids.

Run by `make check`: python -m tests.architecture.templates
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from jinja2 import Environment, TemplateError

from app.config import PROJECT_ROOT
from app.web.rendering import make_environment

FORBIDDEN = {
    "an inline handler": re.compile(r"""\son[a-z]+\s*=\s*["']"""),
    "hx-on": re.compile(r"\shx-on\b"),
    "script in hx-vals or hx-headers": re.compile(r"""hx-(?:vals|headers)[^=]*=\s*["']js:"""),
    "a trigger filter": re.compile(r"""hx-trigger[^=]*=\s*["'][^"'{]*\["""),
    "an inline script": re.compile(r"<script(?![^>]*\bsrc=)(?![^>]*application/json)"),
    "a javascript address": re.compile(r"""=\s*["']javascript:""", re.IGNORECASE),
}


def faults(folder: Path, environment: Environment) -> Iterator[str]:
    """Yield what is wrong, one line for each fault, with the file and line."""
    for path in template_files(folder):
        name = path.relative_to(folder).as_posix()
        try:
            environment.get_template(name)
        except TemplateError as error:
            yield f"{name}:{getattr(error, 'lineno', '?')}: {error}"
        yield from (f"{name}:{line}: {fault}" for line, fault in forbidden(path.read_text(encoding="utf-8")))


def forbidden(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of a template's text that use what the content policy forbids."""
    for fault, pattern in FORBIDDEN.items():
        for found in pattern.finditer(text):
            yield text.count("\n", 0, found.start()) + 1, f"{fault} needs script that the policy forbids"


def template_files(folder: Path) -> list[Path]:
    """Return every template below a folder."""
    return sorted(path for path in folder.rglob("*") if path.is_file())


def main() -> int:
    """Print what is wrong; the exit code says whether anything is."""
    templates = PROJECT_ROOT / "templates"
    environment = make_environment(templates=templates, static=PROJECT_ROOT / "static")
    found = list(faults(templates, environment))
    print("\n".join(found) or f"{len(template_files(templates))} compile")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
