"""The state diagram's geometry."""

import re

import pytest

from app.leads.stage_map import stage_map
from app.web.diagram import BOX_HEIGHT, BOX_WIDTH, draw_diagram
from app.web.views import DiagramEdge, DiagramNode

STAGES = (
    "nurturing",
    "engaged",
    "booked",
    "attended",
    "no_show",
    "exhausted",
    "opted_out",
    "exited",
    "closed",
)


def test_a_straight_arrow_joins_the_facing_sides_of_two_boxes() -> None:
    nodes = [DiagramNode("a", "A", column=0, row=0), DiagramNode("b", "B", column=1, row=0)]
    drawing = draw_diagram(nodes, [DiagramEdge("a", "b")])
    start, end = drawing.boxes
    middle = start.y + BOX_HEIGHT // 2
    assert drawing.arrows[0].path == f"M{start.x + BOX_WIDTH} {middle}L{end.x} {middle}"


def test_an_arrow_around_a_corner_is_rounded_and_ends_at_the_side() -> None:
    nodes = [DiagramNode("a", "A", column=0, row=0), DiagramNode("b", "B", column=1, row=1)]
    drawing = draw_diagram(nodes, [DiagramEdge("a", "b")])
    path = drawing.arrows[0].path
    assert "Q" in path
    assert path.endswith(f"L{drawing.boxes[1].x} {drawing.boxes[1].y + BOX_HEIGHT // 2}")


def test_everything_lies_inside_the_picture() -> None:
    drawing = draw_diagram(*stage_map(current="booked", visited=("nurturing", "engaged")))
    for box in drawing.boxes:
        assert 0 <= box.x <= drawing.width - box.width
        assert 0 <= box.y <= drawing.height - box.height
    for arrow in drawing.arrows:
        assert all(float(number) >= 0 for number in re.findall(r"-?[\d.]+", arrow.path))


def test_an_edge_to_nowhere_is_an_error() -> None:
    with pytest.raises(KeyError):
        draw_diagram([DiagramNode("a", "A", column=0, row=0)], [DiagramEdge("a", "b")])


@pytest.mark.parametrize("stage", STAGES)
def test_every_stage_can_be_lit_and_only_one_is(stage: str) -> None:
    nodes, edges = stage_map(current=stage)
    assert [node.key for node in nodes if node.is_current] == [stage]
    assert {edge.start for edge in edges} | {edge.end for edge in edges} <= {node.key for node in nodes}


def test_the_way_walked_is_marked_and_no_other() -> None:
    _, edges = stage_map(current="engaged", visited=("nurturing",))
    assert [(edge.start, edge.end) for edge in edges if edge.is_walked] == [("nurturing", "engaged")]
