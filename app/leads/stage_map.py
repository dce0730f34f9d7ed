"""Where each stage stands on the state diagram; the arrows are the transition table's."""

from collections.abc import Collection, Mapping

from app.campaigns.domain.graph import arrows
from app.campaigns.domain.vocabulary import Stage
from app.web.views import DiagramEdge, DiagramNode

# (key, label, column, row, kind) on a grid; main line on top, what ends a journey below.
_NODES = (
    ("nurturing", "Nurturing", 0, 0, "fixed"),
    ("engaged", "Engaged", 1, 0, "fixed"),
    ("booked", "Booked", 2, 0, "fixed"),
    ("attended", "Attended", 3, 0, "fixed"),
    ("exhausted", "Exhausted", 0, 1, "end"),
    ("opted_out", "Opted out", 1, 1, "end"),
    ("no_show", "No-show", 2, 1, "fixed"),
    ("closed", "Closed", 3, 1, "end"),
)
# The arrows that have room; the table says what leads along them.
_DRAWN = (
    (Stage.NURTURING, Stage.ENGAGED),
    (Stage.ENGAGED, Stage.BOOKED),
    (Stage.BOOKED, Stage.ATTENDED),
    (Stage.NURTURING, Stage.EXHAUSTED),
    (Stage.ENGAGED, Stage.OPTED_OUT),
    (Stage.BOOKED, Stage.NO_SHOW),
    (Stage.ATTENDED, Stage.CLOSED),
)
_WAYS = {(arrow.start, arrow.end): min(arrow.label.split(", "), key=len) for arrow in arrows()}
_EDGES = tuple((str(start), str(end), _WAYS[start, end]) for start, end in _DRAWN)
_EXITED = ("exited", "Exited", 1, 1, "end")


def stage_map(
    *, current: str, visited: Collection[str] = (), notes: Mapping[str, str] | None = None
) -> tuple[tuple[DiagramNode, ...], tuple[DiagramEdge, ...]]:
    """Nodes and arrows with the present stage lit and the way there marked; `notes` go under the names."""
    said = notes or {}
    # A complaint or a dead address ends in `exited`, which takes the place of the other involuntary end.
    drawn = [_EXITED if current == "exited" and row[0] == "opted_out" else row for row in _NODES]
    nodes = tuple(
        DiagramNode(
            key=key,
            label=label,
            column=column,
            row=row,
            note=said.get(key, ""),
            kind="end" if kind == "end" else "fixed",
            is_current=key == current,
            is_visited=key in visited,
        )
        for key, label, column, row, kind in drawn
    )
    reached = {*visited, current}
    edges = tuple(
        DiagramEdge(start, _renamed(end, current), label, is_walked=start in visited and end in reached)
        for start, end, label in _EDGES
    )
    return nodes, edges


def _renamed(key: str, current: str) -> str:
    return "exited" if key == "opted_out" and current == "exited" else key
