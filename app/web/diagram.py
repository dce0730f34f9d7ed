"""Draws a state diagram: grid positions in, boxes and rounded paths out. The template prints it."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.web.views import DiagramEdge, DiagramNode

BOX_WIDTH, BOX_HEIGHT = 100, 48
COLUMN, ROW = 152, 88
MARGIN = 4
CORNER = 10

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Box:
    """A node with its top left corner, in pixels."""

    node: DiagramNode
    x: int
    y: int
    width: int = BOX_WIDTH
    height: int = BOX_HEIGHT


@dataclass(frozen=True, slots=True)
class Arrow:
    """An edge as SVG path data with the place of its label, in pixels."""

    edge: DiagramEdge
    path: str
    label_x: float
    label_y: float
    is_label_centred: bool


@dataclass(frozen=True, slots=True)
class Drawing:
    """A whole diagram, ready to print."""

    width: int
    height: int
    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]


def draw_diagram(nodes: Sequence[DiagramNode], edges: Sequence[DiagramEdge]) -> Drawing:
    """Place every node on its grid cell and lead every edge along rows and columns.

    Raises KeyError when an edge names a node that is not there.
    """
    boxes = {node.key: Box(node, MARGIN + node.column * COLUMN, MARGIN + node.row * ROW) for node in nodes}
    arrows = tuple(_arrow(edge, boxes[edge.start], boxes[edge.end]) for edge in edges)
    width = 2 * MARGIN + max((node.column for node in nodes), default=0) * COLUMN + BOX_WIDTH
    height = 2 * MARGIN + max((node.row for node in nodes), default=0) * ROW + BOX_HEIGHT
    return Drawing(width, height, tuple(boxes.values()), arrows)


def _arrow(edge: DiagramEdge, start: Box, end: Box) -> Arrow:
    points = _route(start, end)
    label_x, label_y = _label_place(points)
    return Arrow(edge, _rounded(points), label_x, label_y, is_label_centred=points[-2][1] == points[-1][1])


def _route(start: Box, end: Box) -> list[Point]:
    """Same row: straight across. Same column: straight down or up. Else down the column, then across."""
    across, down = end.node.column - start.node.column, end.node.row - start.node.row
    middle_y = start.y + BOX_HEIGHT / 2
    if down == 0:
        side = BOX_WIDTH if across > 0 else 0
        return [(start.x + side, middle_y), (end.x + BOX_WIDTH - side, middle_y)]
    leaving_y = start.y + (BOX_HEIGHT if down > 0 else 0)
    if across == 0:
        centre = start.x + BOX_WIDTH / 2
        return [(centre, leaving_y), (centre, end.y + (0 if down > 0 else BOX_HEIGHT))]
    # Off the centre, so that it does not run over a straight arrow in the same column.
    centre = start.x + BOX_WIDTH * (0.75 if across > 0 else 0.25)
    target_y = end.y + BOX_HEIGHT / 2
    return [(centre, leaving_y), (centre, target_y), (end.x + (0 if across > 0 else BOX_WIDTH), target_y)]


def _label_place(points: list[Point]) -> Point:
    (first_x, first_y), (second_x, second_y) = points[-2], points[-1]
    if first_y == second_y:
        return (first_x + second_x) / 2, first_y - 6
    return (first_x + second_x) / 2 + 6, (first_y + second_y) / 2 + 4


def _rounded(points: list[Point]) -> str:
    path = f"M{points[0][0]:g} {points[0][1]:g}"
    for before, corner, after in zip(points, points[1:], points[2:], strict=False):
        (ax, ay), (bx, by) = _towards(corner, before), _towards(corner, after)
        path += f"L{ax:g} {ay:g}Q{corner[0]:g} {corner[1]:g} {bx:g} {by:g}"
    return f"{path}L{points[-1][0]:g} {points[-1][1]:g}"


def _towards(corner: Point, other: Point) -> Point:
    (x, y), (ox, oy) = corner, other
    return x + max(-CORNER, min(CORNER, ox - x)), y + max(-CORNER, min(CORNER, oy - y))
