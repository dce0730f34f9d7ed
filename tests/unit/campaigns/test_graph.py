"""The diagram is the table's: in the documents and on screens."""

from __future__ import annotations

from pathlib import Path

from app.campaigns.domain.graph import arrows, document
from app.campaigns.domain.machine import TABLE
from app.campaigns.domain.vocabulary import LIVE, Stage
from app.leads.stage_map import stage_map


def test_the_document_holds_the_diagram_and_the_table_as_they_are() -> None:
    page = Path(__file__).parents[3] / "docs" / "engine.md"
    assert page.read_text().endswith(document())


def test_every_way_leads_from_a_live_stage_along_a_row() -> None:
    ends = {(start, row.to) for row in TABLE if isinstance(row.to, Stage) for start in row.stages}
    for arrow in arrows():
        assert arrow.start in LIVE
        assert (arrow.start, arrow.end) in ends or arrow.label == "handed back"


def test_the_arrows_on_screen_are_the_tables() -> None:
    ways = {(str(a.start), str(a.end)): a.label for a in arrows()}
    _, edges = stage_map(current="nurturing")
    assert edges and all(edge.label in ways[edge.start, edge.end] for edge in edges)
