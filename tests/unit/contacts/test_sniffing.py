"""Files as people really send them are read, or refused with a sentence that says what to do."""

import pytest

from app.contacts.imports.domain.mapping import Target, propose_mapping
from app.contacts.imports.domain.sniffing import FileRefused, Limits, Record, records, sniff


def read(content: bytes, *, limits: Limits | None = None) -> list[Record]:
    return list(records(content, sheet=sniff(content), limits=limits))


def test_o01_byte_order_mark_does_not_hide_the_first_column() -> None:
    content = b"\xef\xbb\xbfphone,first_name\n0123456789,Ana\n"
    assert sniff(content).header == ("phone", "first_name")
    assert propose_mapping(sniff(content).header).index_of(Target.PHONE) == 0


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_wide_encodings_are_read_with_and_without_a_mark(encoding: str) -> None:
    content = "phone;name\r\n0123456789;Ana\r\n".encode(encoding)
    assert [record.cells for record in read(content)] == [("0123456789", "Ana")]


def test_windows_text_is_read_with_a_warning() -> None:
    content = "name,phone\nJosé,0123456789\n".encode("cp1252")
    sheet = sniff(content)
    assert sheet.warnings == ("encoding_guessed",)
    assert next(records(content, sheet=sheet)).cells == ("José", "0123456789")


def test_v01_one_broken_byte_does_not_spoil_a_utf8_file() -> None:
    content = "name,phone\n陈美玲,0123456789\nBad ".encode() + b"\xff,0123456780\n"
    sheet = sniff(content)
    assert sheet.warnings == ("bytes_replaced",)
    assert [record.cells[0] for record in records(content, sheet=sheet)] == ["陈美玲", "Bad \ufffd"]


def test_v01_nul_in_a_cell_is_removed_with_a_warning() -> None:
    (record,) = read(b"name,phone\nNul\x00Byte,0123456789\n")
    assert record.cells == ("NulByte", "0123456789")
    assert record.warnings == ("nul_removed",)


def test_o03_separator_is_the_one_that_makes_records_alike() -> None:
    header = ";".join(f"h{i}" for i in range(20))
    row = ";".join(["a, b, c", *(f"c{i}" for i in range(20))])
    content = "\n".join([header, *[row] * 30]).encode()
    assert sniff(content).delimiter == ";"


def test_o03_ragged_rows_are_reported_with_their_lines() -> None:
    content = b'name;phone\n"two\nlines";0123456789\nshort\nlong;0123456788;extra\npadded;0123456787;;\n'
    found = [(record.row, record.line, record.problem) for record in read(content)]
    assert found == [
        (1, 2, None),
        (2, 4, "wrong_number_of_cells"),
        (3, 5, "wrong_number_of_cells"),
        (4, 6, None),
    ]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_each_usual_separator_is_found(delimiter: str) -> None:
    content = delimiter.join(["name", "phone"]) + "\n" + delimiter.join(["Ana", "0123456789"]) + "\n"
    assert sniff(content.encode()).delimiter == delimiter


def test_the_separator_line_of_excel_is_obeyed_and_left_out() -> None:
    content = b"sep=;\r\nname;phone\r\nA, B;0123456789\r\n"
    sheet = sniff(content)
    assert (sheet.delimiter, sheet.header, sheet.header_line) == (";", ("name", "phone"), 2)
    assert [record.cells for record in records(content, sheet=sheet)] == [("A, B", "0123456789")]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_each_line_end_is_understood(end: str) -> None:
    content = end.join(["name,phone", "Ana,0123456789", "", "Ben,0123456780", ",", ""]).encode()
    assert [(record.row, record.line) for record in read(content)] == [(1, 2), (2, 4)]


def test_a_quote_that_is_never_closed_spoils_one_row_only() -> None:
    lines = [f"name{i},01234567{i:02}" for i in range(60)]
    lines[3] = '"' + lines[3]
    content = "\n".join(["name,phone", *lines]).encode()
    found = read(content)
    assert [record.problem for record in found] == [None] * 3 + ["quote_not_closed"]
    assert found[3].line == 5


def test_a_cell_beyond_the_reader_is_one_bad_row_and_reading_goes_on() -> None:
    content = b'name,phone\n"' + b"x" * 200_000 + b"\nAna,0123456789\n"
    assert [record.problem for record in read(content)] == ["quote_not_closed", None]


def test_a_long_cell_is_refused_by_row() -> None:
    content = b"name,phone\n" + b"x" * 11_000 + b",0123456789\nAna,0123456789\n"
    assert [record.problem for record in read(content)] == ["cell_too_long", None]


@pytest.mark.parametrize("content", [b"", b"\xef\xbb\xbf", b"\r\n \n", b"\x00\x00"])
def test_an_empty_file_is_refused(content: bytes) -> None:
    with pytest.raises(FileRefused, match="empty"):
        sniff(content)


@pytest.mark.parametrize("content", [b"PK\x03\x04...", b"\xd0\xcf\x11\xe0...", b"%PDF-1.7"])
def test_a_workbook_is_refused_with_the_way_to_save_it(content: bytes) -> None:
    with pytest.raises(FileRefused, match="CSV UTF-8"):
        sniff(content)


def test_a_file_with_only_a_header_has_no_records() -> None:
    assert read(b"name,phone\n") == []


def test_limits_are_kept() -> None:
    content = b"name,phone\nA,0123456789\nB,0123456788\n"
    with pytest.raises(FileRefused, match="larger"):
        sniff(content, limits=Limits(file_bytes=10))
    with pytest.raises(FileRefused, match="columns"):
        sniff(content, limits=Limits(columns=1))
    with pytest.raises(FileRefused, match="rows"):
        read(content, limits=Limits(rows=1))
