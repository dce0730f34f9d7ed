"""What the documents list is what there is."""

from __future__ import annotations

import re

from app.config import PROJECT_ROOT

DOCS = PROJECT_ROOT / "docs"


def test_every_case_that_a_test_names_is_explained_and_every_explained_case_is_tried() -> None:
    names = re.findall(
        r"def test_((?:[a-zA-Z]\d\d_)+)",
        "\n".join(path.read_text(encoding="utf-8") for path in (PROJECT_ROOT / "tests").rglob("test_*.py")),
    )
    tried = {case.upper() for name in names for case in name.strip("_").split("_")}
    tried = {case for case in tried if not case.startswith("I")}  # I1 … I12 are the engine's own invariants
    explained = set(
        re.findall(r"^\| ([A-Z]\d\d) \|", (DOCS / "testing.md").read_text(encoding="utf-8"), re.MULTILINE)
    )
    assert tried == explained


def test_every_setting_that_is_read_is_explained_and_no_other() -> None:
    source = (PROJECT_ROOT / "app" / "config.py").read_text(encoding="utf-8")
    read = set(re.findall(r'"((?:WARMLINE|TWILIO)_[A-Z_]+|DATABASE_URL|REDIS_URL)"', source))
    table = (DOCS / "operations.md").read_text(encoding="utf-8").partition("## Commands")[0]
    explained = set(re.findall(r"`((?:WARMLINE|TWILIO)_[A-Z_]+|DATABASE_URL|REDIS_URL)`", table))
    assert read == explained
