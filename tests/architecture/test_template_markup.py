"""House rules of the markup: whole class names, forms that work as plain posts, nothing unescaped."""

import re
from pathlib import Path

import pytest
from jinja2 import Environment, nodes

from app.web.rendering import make_environment

ROOT = Path(__file__).parents[2]
TEMPLATES = ROOT / "templates"
NAMES = sorted(path.relative_to(TEMPLATES).as_posix() for path in TEMPLATES.rglob("*.html"))
CLASS_ATTRIBUTE = re.compile(r'class="([^"]*)"')
# A class name glued to an expression is one that the style build never sees.
GLUED = re.compile(r"[\w:/.\]-](?:\{\{)|\}\}[\w:/.\[-]")


@pytest.fixture(scope="module")
def environment() -> Environment:
    return make_environment(templates=TEMPLATES, static=ROOT / "static")


def source_of(name: str) -> str:
    return (TEMPLATES / name).read_text(encoding="utf-8")


def test_there_are_templates_to_check() -> None:
    assert len(NAMES) > 30


@pytest.mark.parametrize("name", NAMES)
def test_the_templates_it_names_exist(environment: Environment, name: str) -> None:
    tree = environment.parse(source_of(name))
    for node in tree.find_all((nodes.Include, nodes.Import, nodes.FromImport, nodes.Extends)):
        template = getattr(node, "template", None)
        if isinstance(template, nodes.Const):
            environment.get_template(template.value)


@pytest.mark.parametrize("name", NAMES)
def test_its_class_names_stand_whole(name: str) -> None:
    for value in CLASS_ATTRIBUTE.findall(source_of(name)):
        assert not GLUED.search(value), value


@pytest.mark.parametrize("name", NAMES)
def test_nothing_in_it_leaves_the_escaping(name: str) -> None:
    assert not re.search(r"\|\s*safe\b|autoescape", source_of(name))


# The simulator is a process of its own without log-ins, so it has no session whose token a form could carry.
@pytest.mark.parametrize("name", [name for name in NAMES if not name.startswith("simulator/")])
def test_its_forms_carry_the_token(name: str) -> None:
    for form in re.findall(r'<form\b[^>]*method="post".*?</form>', source_of(name), flags=re.DOTALL):
        assert "csrf" in form, form[:120]


@pytest.mark.parametrize("name", NAMES)
def test_what_it_posts_can_be_posted_without_script(name: str) -> None:
    for tag in re.findall(r"<[a-z]+\b[^>]*\bhx-post=[^>]*>", source_of(name)):
        # What has come into view is marked as read; nobody asks for that by hand.
        if 'hx-trigger="intersect once"' in tag:
            continue
        assert tag.startswith("<form"), tag
        assert 'method="post"' in tag, tag
        assert re.search(r'\baction="', tag), tag


def test_a_glued_class_name_is_found() -> None:
    assert GLUED.search("text-{{ tone }}")
    assert GLUED.search("{{ tone }}-soft")
    assert not GLUED.search("btn {{ 'a' if x else 'b' }} tag")
