"""The state diagram, drawn from the table: the same arrows on screens and in the documents.

`python -m app.campaigns.domain.graph` prints the part of docs/engine.md that is generated.
"""

from __future__ import annotations

from dataclasses import dataclass

from app.campaigns.domain.machine import ENROL_ROW, RETURN, SAME, TABLE, Row
from app.campaigns.domain.vocabulary import LIVE, TERMINAL, Stage, Stim

_WORDS = {
    Stim.HUMAN_SIGNAL: "answers",
    Stim.DOUBTFUL_OPT_OUT: "may want to stop",
    Stim.BOOKED: "books",
    Stim.CANCELLED: "cancels",
    Stim.ATTENDED: "comes",
    Stim.NO_SHOW: "does not come",
    Stim.ATTENDANCE_CORRECTED: "corrected",
    Stim.ADVISER_RESUMED: "handed back",
    Stim.CLOSED: "closed by a person",
    Stim.PATH_ENDED: "last step done",
    Stim.OPTED_OUT: "STOP",
    Stim.COMPLAINED: "complains",
    Stim.MERGED: "merged",
}
_RETURNS = (Stage.NURTURING, Stage.ATTENDED, Stage.NO_SHOW)
"""Where a journey comes from when it is engaged, and so where it can be handed back to."""


@dataclass(frozen=True, slots=True)
class Arrow:
    """One way from a stage to another, and what leads there."""

    start: Stage
    end: Stage
    label: str


def arrows() -> tuple[Arrow, ...]:
    """Return every way from stage to stage, one for each pair; several causes are named together."""
    found: dict[tuple[Stage, Stage], list[str]] = {}
    for row in TABLE:
        for start in sorted(row.stages):
            for end in _ends(row, start):
                words = found.setdefault((start, end), [])
                if _WORDS[row.stim] not in words:
                    words.append(_WORDS[row.stim])
    return tuple(Arrow(start, end, ", ".join(words)) for (start, end), words in found.items())


def mermaid() -> str:
    """Return the diagram as Mermaid; what is the same for every live stage is drawn once."""
    lines = ["stateDiagram-v2", f"    [*] --> {ENROL_ROW.to}: enrolled", "    [*] --> booked: books"]
    shared = _from_everywhere()
    lines += [f"    {a.start} --> {a.end}: {a.label}" for a in arrows() if (a.end, a.label) not in shared]
    lines += ["    state any_live <<choice>>"]
    lines += [f"    any_live --> {end}: {label}" for end, label in sorted(shared)]
    lines += [f"    {stage} --> [*]" for stage in sorted(TERMINAL)]
    return "\n".join(lines)


def table() -> str:
    """Return the table as Markdown, one line for each row."""
    lines = ["| row | from | stimulus | to | automation | then |", "| --- | --- | --- | --- | --- | --- |"]
    for row in TABLE:
        stages = "any live" if row.stages == LIVE else ", ".join(sorted(row.stages))
        only = f" ({', '.join(sorted(row.only))} only)" if row.only else ""
        starts = [f"begin {row.starts}"] if row.starts else []
        then = "; ".join([*starts, *(str(does) for does in row.does)])
        lines.append(
            f"| `{row.id}` | {stages}{only} | {row.stim} | {_word(row.to)} | {_word(row.automation)} | {then} |"
        )
    return "\n".join(lines)


def _ends(row: Row, start: Stage) -> tuple[Stage, ...]:
    if row.to is SAME:
        return ()
    if row.to is RETURN:
        return _RETURNS if start is Stage.ENGAGED else ()
    return (row.to,) if isinstance(row.to, Stage) and row.to is not start else ()


def _from_everywhere() -> set[tuple[Stage, str]]:
    """Return the ends that every live stage has with the same words."""
    by_end: dict[tuple[Stage, str], set[Stage]] = {}
    for arrow in arrows():
        by_end.setdefault((arrow.end, arrow.label), set()).add(arrow.start)
    return {key for key, starts in by_end.items() if starts == LIVE}


def _word(value: object) -> str:
    return str(getattr(value, "value", value))


def document() -> str:
    """Return the generated part of docs/engine.md."""
    return f"```mermaid\n{mermaid()}\n```\n\n{table()}\n"


if __name__ == "__main__":
    print(document(), end="")
