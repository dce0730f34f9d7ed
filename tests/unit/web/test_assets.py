"""The asset build: what it asks for, what it refuses, and that a second run costs nothing."""

import json
import shutil
from pathlib import Path

import pytest

from app import assets

ROOT = Path(__file__).parents[3]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with one icon asked for and the few files that stand in for installed packages."""
    (tmp_path / "templates").mkdir()
    (tmp_path / "templates" / "a.html").write_text('{{ icon("check") }}')
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "places.py").write_text(
        'Place("inbox", "Inbox", "/inbox", "mail")\nNavItem(icon="star")'
    )
    icons = tmp_path / "node_modules" / "lucide-static" / "icons"
    icons.mkdir(parents=True)
    for name in ("check", "mail", "star"):
        (icons / f"{name}.svg").write_text(f'<!-- ISC -->\n<svg class="x">\n  <path d="{name}" />\n</svg>\n')
    (tmp_path / "static" / "vendor").mkdir(parents=True)
    return tmp_path


def test_icons_are_found_in_templates_and_in_data(project: Path) -> None:
    assert assets.icon_names(project_root=project) == {"check", "mail", "star"}


def test_the_sprite_holds_each_icon_once_and_no_comment(project: Path) -> None:
    vendor = project / "static" / "vendor"
    assets._build_sprite(project_root=project, vendor=vendor)
    sprite = (vendor / "icons.svg").read_text()
    assert sprite.count("<symbol") == 3
    assert '<symbol id="check" viewBox="0 0 24 24"><path d="check" /></symbol>' in sprite
    assert "ISC" not in sprite


def test_an_unknown_icon_stops_the_build_and_is_named(project: Path) -> None:
    (project / "templates" / "b.html").write_text("{{ icon('unicorn') }}")
    with pytest.raises(assets.AssetError, match="unicorn"):
        assets._build_sprite(project_root=project, vendor=project / "static" / "vendor")


def test_the_manifest_knows_files_and_icons_by_content(project: Path) -> None:
    vendor = project / "static" / "vendor"
    script = project / "static" / "js" / "a.js"
    script.parent.mkdir()
    script.write_text("1")
    assets._build_sprite(project_root=project, vendor=vendor)
    assets._write_manifest(static=project / "static", vendor=vendor)
    first = json.loads((vendor / "manifest.json").read_text())
    script.write_text("2")
    assets._write_manifest(static=project / "static", vendor=vendor)
    second = json.loads((vendor / "manifest.json").read_text())
    assert first["js/a.js"] != second["js/a.js"]
    assert first["vendor/icons.svg#star"] == second["vendor/icons.svg"]
    assert "vendor/manifest.json" not in second


def test_a_second_build_starts_nothing(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With every input as the stamp says, not even Node is looked for."""
    for name in ("package.json", "package-lock.json"):
        shutil.copyfile(ROOT / name, project / name)
    shutil.copyfile(ROOT / "app" / "assets.py", project / "app" / "assets.py")
    (project / "static" / "vendor" / "stamp.txt").write_text(assets._fingerprint(project))
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("sys.executable", str(project / "bin" / "python"))
    assets.build_assets(project_root=project)
    (project / "templates" / "a.html").write_text('{{ icon("mail") }}')
    with pytest.raises(assets.AssetError, match="Node 20"):
        assets.build_assets(project_root=project)


def test_the_lock_names_no_registry() -> None:
    lock = json.loads((ROOT / "package-lock.json").read_text())
    assert all("resolved" not in package for package in lock["packages"].values())
    installed = [
        package for name, package in lock["packages"].items() if name and not package.get("inBundle")
    ]
    assert all("integrity" in package for package in installed)
