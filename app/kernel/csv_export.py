"""CSV that a spreadsheet opens as text: every export of the product is written by this."""

import csv
import io
from collections.abc import Iterable
from typing import Final

from app.kernel.text import neutralise_cell

BYTE_ORDER_MARK: Final = "\ufeff"
"""What a file begins with: spreadsheets need it to read UTF-8."""


def csv_line(cells: Iterable[object]) -> str:
    """Return one line (CRLF, RFC 4180): each cell quoted and neutralised, None is an empty cell."""
    buffer = io.StringIO()
    csv.writer(buffer, quoting=csv.QUOTE_ALL).writerow([neutralise_cell(cell) for cell in cells])
    return buffer.getvalue()
