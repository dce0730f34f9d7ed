"""The body of a webhook as an ordered multi-dict of raw bytes, whatever its encoding on the way."""

from collections.abc import Iterator
from dataclasses import dataclass
from email.message import Message
from typing import Final
from urllib.parse import unquote_to_bytes

from app.messaging.domain.text import CleanText, clean_text

MOST_FIELDS: Final = 1_000
Pair = tuple[bytes, bytes]


class UnreadableFormError(ValueError):
    """The body is no form that could be read."""


@dataclass(frozen=True, slots=True)
class FormFields:
    """Fields in the order they came: repeated names and blank values are kept."""

    pairs: tuple[Pair, ...]

    def get(self, name: str) -> str:
        """The first value of a name, cleaned; "" when it is missing or blank."""
        return self.cleaned(name).value

    def cleaned(self, name: str) -> CleanText:
        """The first value of a name with what had to be cleaned."""
        key = name.encode()
        return clean_text(next((value for k, value in self.pairs if k == key), b""))

    def raw(self) -> dict[str, str | list[str]]:
        """All fields, cleaned, for storage as JSON; a repeated name has a list."""
        collected: dict[str, list[str]] = {}
        for key, value in self.pairs:
            collected.setdefault(clean_text(key).value, []).append(clean_text(value).value)
        return {key: values[0] if len(values) == 1 else values for key, values in collected.items()}

    def notes(self) -> tuple[str, ...]:
        """What cleaning changed, as `change:Field`, each once."""
        found = (f"{change}:{clean_text(k).value}" for k, v in self.pairs for change in clean_text(v).changes)
        return tuple(dict.fromkeys(found))


def parse_form(*, raw_body: bytes, content_type: str) -> FormFields:
    """Read a url-encoded or multipart body; an empty field means the same in both.

    Raises `UnreadableFormError` for any other content type, a broken multipart body or too many fields.
    """
    kind, boundary = _content_type(content_type)
    if kind == "application/x-www-form-urlencoded":
        return parse_urlencoded(raw_body)
    if kind == "multipart/form-data" and boundary:
        return FormFields(tuple(_multipart(raw_body, boundary)))
    raise UnreadableFormError(kind[:60])


def parse_urlencoded(text: bytes) -> FormFields:
    """Read a url-encoded body or query. Raises `UnreadableFormError` for too many fields."""
    return FormFields(tuple(_urlencoded(text)))


def is_form(content_type: str) -> bool:
    """Whether the content type is one of the two form encodings."""
    return _content_type(content_type)[0] in {"application/x-www-form-urlencoded", "multipart/form-data"}


def _content_type(header: str) -> tuple[str, bytes]:
    kind, _, rest = header.partition(";")
    boundary = b""
    if kind.strip().lower() == "multipart/form-data":
        message = Message()
        message["content-type"] = "multipart/form-data;" + "".join(c for c in rest if c.isprintable())
        value = message.get_param("boundary")
        boundary = value.encode("latin-1", "ignore") if isinstance(value, str) else b""
    return kind.strip().lower(), boundary


def _urlencoded(body: bytes) -> Iterator[Pair]:
    pieces = body.split(b"&", MOST_FIELDS)
    if len(pieces) > MOST_FIELDS:
        raise UnreadableFormError("too many fields")
    for piece in pieces:
        if piece:
            name, _, value = piece.partition(b"=")
            yield _unquote(name), _unquote(value)


def _unquote(text: bytes) -> bytes:
    return unquote_to_bytes(text.replace(b"+", b" "))


def _multipart(body: bytes, boundary: bytes) -> Iterator[Pair]:
    parts = (b"\r\n" + body).split(b"\r\n--" + boundary, MOST_FIELDS + 1)
    if len(parts) > MOST_FIELDS + 1:
        raise UnreadableFormError("too many fields")
    if len(parts) < 2 or not parts[-1].startswith(b"--"):
        raise UnreadableFormError("multipart body without end")
    for part in parts[1:-1]:
        head, blank, value = part.removeprefix(b"\r\n").partition(b"\r\n\r\n")
        if not blank:
            raise UnreadableFormError("multipart part without body")
        name = _field_name(head)
        if name is not None:
            yield name, value


def _field_name(head: bytes) -> bytes | None:
    """The name of a plain field; None for files, which are no part of what is signed."""
    for line in head.split(b"\r\n"):
        label, _, value = line.partition(b":")
        if label.strip().lower() != b"content-disposition":
            continue
        message = Message()
        message["content-disposition"] = "".join(
            c for c in value.decode("latin-1").strip() if c not in "\r\n"
        )
        name = message.get_param("name", header="content-disposition")
        is_file = message.get_param("filename", header="content-disposition") is not None
        return name.encode("latin-1", "replace") if isinstance(name, str) and not is_file else None
    return None
