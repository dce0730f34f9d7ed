"""What a file of leads is made of: encoding, separator, header, and records with their lines."""

import codecs
import csv
import io
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final

from app.kernel.errors import Invalid
from app.kernel.text import NUL_REMOVED, SURROGATES_REMOVED, plain_cell, storable

ENCODING_GUESSED: Final = "encoding_guessed"
BYTES_REPLACED: Final = "bytes_replaced"

WRONG_NUMBER_OF_CELLS: Final = "wrong_number_of_cells"
CELL_TOO_LONG: Final = "cell_too_long"
QUOTE_NOT_CLOSED: Final = "quote_not_closed"

_DELIMITERS: Final = (",", ";", "\t", "|")
_SAMPLE_CHARS: Final = 262_144
_SAMPLE_RECORDS: Final = 200
# A cell that spans more lines than this is a quote that somebody forgot to close.
_MAX_LINES_IN_A_RECORD: Final = 50
_BYTE_ORDER_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_OTHER_FORMATS: Final = (
    (b"PK\x03\x04", "an Excel or OpenDocument workbook"),
    (b"\xd0\xcf\x11\xe0", "an old Excel workbook"),
    (b"%PDF", "a PDF"),
)


class FileRefused(Invalid):
    """The file cannot be imported as it is; the message says what to do."""

    code = "file_refused"


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of a file. Cells are counted in characters."""

    file_bytes: int = 25_000_000
    rows: int = 200_000
    columns: int = 200
    cell_chars: int = 10_000


@dataclass(frozen=True, slots=True)
class Sheet:
    """How a file is to be read. `header_line` is 1-based; `warnings` are codes about the whole file."""

    encoding: str
    delimiter: str
    header: tuple[str, ...]
    header_line: int
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Record:
    """One record of a file: `row` counts records from 1, `line` is where it starts in the file (1-based).

    `problem` is a code when the record cannot be used; its cells are then for showing only.
    """

    row: int
    line: int
    cells: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    problem: str | None = None


def sniff(content: bytes, *, limits: Limits | None = None) -> Sheet:
    """Return how the file is to be read, or raise FileRefused with a sentence for the person."""
    bounds = limits or Limits()
    _refuse_what_is_no_text(content, bounds)
    encoding, warnings = _encoding(content)
    sample = _sample(content, encoding)
    delimiter = _declared_delimiter(sample) or _consistent_delimiter(sample)
    first = next(_rows(_lines(content, encoding), delimiter), None)
    if first is None:
        raise FileRefused("The file is empty. Choose a file with a header row and at least one lead.")
    line, raw_cells = first
    if raw_cells is None:
        raise FileRefused("The first line cannot be read: a quotation mark in it is never closed.")
    header = tuple(" ".join(plain_cell(storable(cell)[0]).split()) for cell in raw_cells)
    if len(header) > bounds.columns:
        raise FileRefused(f"The file has {len(header)} columns; up to {bounds.columns} can be read.")
    return Sheet(encoding=encoding, delimiter=delimiter, header=header, header_line=line, warnings=warnings)


def records(content: bytes, *, sheet: Sheet, limits: Limits | None = None) -> Iterator[Record]:
    """Yield the records after the header, one at a time. Blank rows are left out and not counted.

    Raises FileRefused when there are more rows than `limits` allow.
    """
    bounds = limits or Limits()
    rows = islice(_rows(_lines(content, sheet.encoding), sheet.delimiter), 1, None)
    for number, (line, raw_cells) in enumerate(rows, start=1):
        if number > bounds.rows:
            raise FileRefused(f"The file has more than {bounds.rows:,} rows. Split it and import the parts.")
        yield _record(number, line, raw_cells, width=len(sheet.header), cell_chars=bounds.cell_chars)


def _refuse_what_is_no_text(content: bytes, limits: Limits) -> None:
    if not content.strip(b"\x00\r\n\t \xef\xbb\xbf\xff\xfe"):
        raise FileRefused("The file is empty. Choose a file with a header row and at least one lead.")
    if len(content) > limits.file_bytes:
        size = f"{limits.file_bytes / 1_000_000:g} MB"
        raise FileRefused(f"The file is larger than {size}. Split it and import the parts.")
    for start, name in _OTHER_FORMATS:
        if content.startswith(start):
            raise FileRefused(f"This is {name}. Save it as “CSV UTF-8” and choose that file.")


def _encoding(content: bytes) -> tuple[str, tuple[str, ...]]:
    for mark, name in _BYTE_ORDER_MARKS:
        if content.startswith(mark):
            return name, ()
    head = content[:4096]
    if head.count(b"\x00") > len(head) // 4:
        return ("utf-16-le" if head[1::2].count(0) >= head[::2].count(0) else "utf-16-be"), (
            ENCODING_GUESSED,
        )
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return _not_quite_utf8(content)
    return "utf-8", ()


def _not_quite_utf8(content: bytes) -> tuple[str, tuple[str, ...]]:
    """Tell UTF-8 with a few broken bytes from Windows-1252, where valid UTF-8 sequences are rare."""
    text = content.decode("utf-8", errors="replace")
    broken = text.count("\ufffd")
    whole = sum(1 for c in text if c > "\x7f") - broken
    return ("utf-8", (BYTES_REPLACED,)) if whole > broken else ("cp1252", (ENCODING_GUESSED,))


def _lines(content: bytes, encoding: str) -> Iterator[str]:
    """Yield lines with their ends (LF, CRLF or a lone CR), decoded piece by piece."""
    return iter(io.TextIOWrapper(io.BytesIO(content), encoding=encoding, errors="replace", newline=""))


def _sample(content: bytes, encoding: str) -> str:
    text = io.TextIOWrapper(io.BytesIO(content), encoding=encoding, errors="replace", newline="")
    sample = text.read(_SAMPLE_CHARS).replace("\x00", "")
    if len(sample) < _SAMPLE_CHARS:
        return sample
    return sample[: max(sample.rfind("\n"), sample.rfind("\r")) + 1] or sample


def _declared_delimiter(sample: str) -> str | None:
    """Excel writes `sep=;` as the first line of some files."""
    first = sample.split("\n", 1)[0].strip().lstrip("\ufeff").strip('"')
    if first.casefold().startswith("sep=") and first[4:5] in _DELIMITERS:
        return first[4:5]
    if sample.casefold().startswith("sep=\t"):
        return "\t"
    return None


def _consistent_delimiter(sample: str) -> str:
    """Choose the separator that gives most records the same, high number of cells.

    Counting separators alone fails on text cells with commas in them; how alike the records are does not.
    """
    return max(_DELIMITERS, key=lambda delimiter: _consistency(sample, delimiter))


def _consistency(sample: str, delimiter: str) -> float:
    rows = islice(_rows(iter(io.StringIO(sample, newline="")), delimiter), _SAMPLE_RECORDS)
    widths = [len(cells) for _, cells in rows if cells is not None]
    if not widths:
        return 0.0
    width, times = Counter(widths[1:] or widths).most_common(1)[0]
    alike = times / len(widths[1:] or widths)
    header_fits = 1.0 if widths[0] == width else 0.8
    return float(alike * header_fits * (width - 1) ** 0.5)


def _rows(lines: Iterator[str], delimiter: str) -> Iterator[tuple[int, list[str] | None]]:
    """Yield (line, cells) of each row that is not blank, the header included; None for an unreadable one."""
    counted = _CountedLines(lines)
    reader = csv.reader(counted, delimiter=delimiter, strict=False)
    while True:
        counted.start_record()
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error:
            # Raised for a cell above the csv module's own limit; the reader goes on with the next line.
            yield counted.first_line, None
            continue
        if counted.first_line == 1 and _is_separator_line(cells):
            continue
        if any(cell.strip(" \t\r\n\x00\ufeff") for cell in cells):
            yield counted.first_line, cells


def _is_separator_line(cells: Iterable[str]) -> bool:
    return "".join(cells).casefold().strip("\ufeff") in {"sep=", *(f"sep={d}" for d in _DELIMITERS)}


class _CountedLines:
    """An iterator of lines that knows where the current record began."""

    def __init__(self, lines: Iterator[str]) -> None:
        self._lines = lines
        self._read = 0
        self.first_line = 1

    def start_record(self) -> None:
        self.first_line = self._read + 1

    def __iter__(self) -> "_CountedLines":
        return self

    def __next__(self) -> str:
        line = next(self._lines)
        self._read += 1
        return line


def _record(number: int, line: int, raw_cells: list[str] | None, *, width: int, cell_chars: int) -> Record:
    if raw_cells is None:
        return Record(row=number, line=line, cells=(), problem=QUOTE_NOT_CLOSED)
    removed: list[str] = []
    cells = tuple(_cell(cell, removed) for cell in raw_cells)
    return Record(
        row=number,
        line=line,
        cells=cells,
        warnings=tuple(code for code in (NUL_REMOVED, SURROGATES_REMOVED) if code in removed),
        problem=_problem(cells, width=width, cell_chars=cell_chars),
    )


def _cell(raw: str, removed: list[str]) -> str:
    if "\x00" in raw or not raw.isascii():
        raw, codes = storable(raw)
        removed.extend(codes)
    return plain_cell(raw)


def _problem(cells: tuple[str, ...], *, width: int, cell_chars: int) -> str | None:
    if any(cell.count("\n") > _MAX_LINES_IN_A_RECORD for cell in cells):
        return QUOTE_NOT_CLOSED
    if any(len(cell) > cell_chars for cell in cells):
        return CELL_TOO_LONG
    # Spreadsheets pad rows with empty cells at the end; nothing is lost with those.
    if len(cells) < width or any(cell.strip() for cell in cells[width:]):
        return WRONG_NUMBER_OF_CELLS
    return None
