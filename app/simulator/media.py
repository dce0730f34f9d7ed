"""Tiny files that phones send: made here, so that nothing has to be carried along."""

from __future__ import annotations

import base64
import struct
import zlib

IMAGE, VOICE, DOCUMENT, STICKER, CONTACT = (
    "image/jpeg",
    "audio/ogg",
    "application/pdf",
    "image/webp",
    "text/vcard",
)

_JPEG = base64.b64decode(
    "/9j/4AAQSkZJRgABAQEASABIAAD/2wBDAP//////////////////////////////////////////////////////////////////////////////////"
    "////wgALCAABAAEBAREA/8QAFBABAAAAAAAAAAAAAAAAAAAAAP/aAAgBAQABPxA="
)
_WEBP = base64.b64decode("UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA==")
_PDF = (
    b"%PDF-1.1\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n"
    b"2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n"
    b"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 200]>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n"
)


def file_of(content_type: str, *, name: str = "") -> bytes:
    """Return a small valid file of this type; `name` is the person on a contact card. Raises KeyError for
    other types.
    """
    if content_type == CONTACT:
        return f"BEGIN:VCARD\r\nVERSION:3.0\r\nFN:{name}\r\nEND:VCARD\r\n".encode()
    return {IMAGE: _JPEG, VOICE: _ogg(), DOCUMENT: _PDF, STICKER: _WEBP, "image/png": _png()}[content_type]


def _png() -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(b"\0\x31\x52\xb0"))
        + chunk(b"IEND", b"")
    )


def _ogg() -> bytes:
    """Return the two header pages of an Opus stream without sound (RFC 7845)."""
    head = b"OpusHead" + struct.pack("<BBHIhB", 1, 1, 0, 48000, 0, 0)
    tags = b"OpusTags" + struct.pack("<I", 4) + b"demo" + struct.pack("<I", 0)
    return _ogg_page(head, kind=2, number=0) + _ogg_page(tags, kind=4, number=1)


def _ogg_page(data: bytes, *, kind: int, number: int) -> bytes:
    page = b"OggS" + struct.pack("<BBqIIIB", 0, kind, 0, 1, number, 0, 1) + bytes([len(data)]) + data
    return page[:22] + struct.pack("<I", _ogg_checksum(page)) + page[26:]


def _ogg_checksum(page: bytes) -> int:
    """Return the CRC that Ogg uses: polynomial 0x04c11db7, not reflected, starting at 0 (RFC 3533)."""
    register = 0
    for byte in page:
        register ^= byte << 24
        for _ in range(8):
            register = ((register << 1) ^ 0x04C11DB7 if register & 0x80000000 else register << 1) & 0xFFFFFFFF
    return register
