import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from twilio.request_validator import RequestValidator

from app.messaging.gateways.twilio.forms import FormFields, parse_form
from app.messaging.gateways.twilio.signature import signature_for, verify_signature

FORM = "application/x-www-form-urlencoded"
TOKEN = "12345"
PARAMETERS = {
    "CallSid": "CA1234567890ABCDE",
    "Digits": "1234",
    "From": "+14158675309",
    "To": "+18005551212",
    "Caller": "+14158675309",
}
PAYLOADS = Path(__file__).parents[2] / "data" / "payloads"
INDEX = json.loads((PAYLOADS / "index.json").read_text(encoding="utf-8"))
SIGNED = [entry for entry in INDEX["files"] if "headers" in entry]


def sdk_signature(url: str, parameters: Mapping[str, str]) -> str:
    """What the SDK's own validator computes with our token."""
    validator: Any = RequestValidator(TOKEN)
    return str(validator.compute_signature(url, dict(parameters)))


def check(
    *,
    signature: str | None,
    body: bytes,
    base: str = "https://mycompany.com",
    query: str | bytes = "foo=1&bar=2",
    tokens: tuple[str, ...] = (TOKEN,),
    content_type: str = FORM,
    more: Mapping[str, str] | None = None,
    path: str = "/myapp.php",
    **rest: Any,
) -> bool:
    headers = dict(more or {}) | ({} if signature is None else {"X-Twilio-Signature": signature})
    return verify_signature(
        auth_tokens=tokens,
        public_base_url=base,
        path=path,
        raw_query=query,
        raw_body=body,
        content_type=content_type,
        headers=headers,
        **rest,
    )


BODY = urlencode(PARAMETERS).encode()


@pytest.mark.parametrize(
    ("base", "signature"),
    [
        ("https://mycompany.com", "RSOYDt4T1cUTdK1PDd93/VVr8B8="),
        ("https://mycompany.com", "kvajT1Ptam85bY51eRf/AJRuM3w="),
        ("https://mycompany.com:443", "kvajT1Ptam85bY51eRf/AJRuM3w="),
        ("https://mycompany.com:443", "RSOYDt4T1cUTdK1PDd93/VVr8B8="),
        ("http://mycompany.com", "0ZXoZLH/DfblKGATFgpif+LLRf4="),
        ("http://mycompany.com:80", "0ZXoZLH/DfblKGATFgpif+LLRf4="),
        ("http://mycompany.com:1234", "Zmvh+3yNM1Phv2jhDCwEM3q5ebU="),
    ],
)
def test_the_published_vectors_hold_with_and_without_the_port(base: str, signature: str) -> None:
    assert check(signature=signature, body=BODY, base=base)
    assert not check(signature=signature, body=BODY + b"x", base=base)
    assert not check(signature=signature, body=BODY, base=base, query="bar=2&foo=1")


def test_a_settings_header_chooses_sha256() -> None:
    settings = {"x-twilio-webhooks-signature-settings": "key=k1,algorithm=HMAC_SHA256"}
    signature = "033hgUJA9M/hXIZsYjwkerEP/DBm35nEri5FhCYjA5s="
    assert check(signature=signature, body=BODY, more=settings)
    assert not check(signature=signature, body=BODY)
    assert check(signature=signature, body=BODY, more=settings, tokens=(), shared_keys={"k1": TOKEN})
    assert not check(signature=signature, body=BODY, more=settings, shared_keys={"k1": "other"})
    unknown = {"X-Twilio-Webhooks-Signature-Settings": "key=k1,algorithm=HMAC_MD5"}
    assert not check(signature=signature, body=BODY, more=unknown)


def test_U03_repeated_form_keys_verify() -> None:
    body = b"Sid=CA123&SidAccount=AC123&Digits=5678&Digits=1234&Digits=1234"
    assert check(signature="IK+Dwps556ElfBT0I3Rgjkr1wJU=", body=body)
    assert not check(signature="IK+Dwps556ElfBT0I3Rgjkr1wJU=", body=b"Sid=CA123&SidAccount=AC123&Digits=5678")


def test_U03_blank_values_plus_signs_and_unicode_keys_verify() -> None:
    pairs = [("Body", ""), ("From", "+60 12"), ("Ключ", "值 & =+%"), ("a", "x+y")]
    body = urlencode(pairs).encode()
    signature = sdk_signature("https://mycompany.com/myapp.php?foo=1&bar=2", dict(pairs))
    assert check(signature=signature, body=body)
    assert not check(signature=signature, body=body.replace(b"Body=&", b""))
    fields = parse_form(raw_body=body, content_type=FORM)
    assert fields.get("From") == "+60 12"
    assert fields.raw()["Body"] == ""


def test_a_json_body_is_valid_only_with_its_hash_in_the_query() -> None:
    body = b'{"property": "value", "boolean": true}'
    hash_ = "0a1ff7634d9ab3b95db5c9a2dfe9416e41502b283a80c7cf19632632f96e6620"
    signature = "a9nBmqA0ju/hNViExpshrM61xv4="
    query = f"foo=1&bar=2&bodySHA256={hash_}"
    assert check(signature=signature, body=body, query=query, content_type="application/json")
    assert not check(signature=signature, body=body + b" ", query=query, content_type="application/json")
    without = sdk_signature("https://mycompany.com/myapp.php?foo=1&bar=2", {})
    assert not check(signature=without, body=body, content_type="application/json")


def test_a_get_is_signed_by_its_address_alone() -> None:
    signature = sdk_signature("https://mycompany.com/myapp.php?foo=1&bar=2", {})
    assert check(signature=signature, body=b"", content_type="")
    assert not check(signature=signature, body=b"{}", content_type="")


def test_U01_the_configured_public_address_decides_and_forwarded_headers_do_not() -> None:
    forged = {"Host": "evil.example", "X-Forwarded-Host": "evil.example", "X-Forwarded-Proto": "http"}
    assert check(signature="RSOYDt4T1cUTdK1PDd93/VVr8B8=", body=BODY, more=forged)
    evil = sdk_signature("https://evil.example/myapp.php?foo=1&bar=2", PARAMETERS)
    assert not check(signature=evil, body=BODY, more=forged)


def test_U05_two_tokens_hold_during_rotation_and_no_token_never_does() -> None:
    signature = "RSOYDt4T1cUTdK1PDd93/VVr8B8="
    assert check(signature=signature, body=BODY, tokens=("new", TOKEN))
    assert check(signature=signature, body=BODY, tokens=(TOKEN, "old"))
    assert not check(signature=signature, body=BODY, tokens=("new",))
    assert not check(signature=signature, body=BODY, tokens=())
    empty = signature_for(
        auth_token="",
        url="https://mycompany.com/myapp.php?foo=1&bar=2",
        fields=parse_form(raw_body=BODY, content_type=FORM),
    )
    assert not check(signature=empty, body=BODY, tokens=("",))


def multipart(pairs: list[tuple[str, str]], boundary: str = "xYz") -> tuple[bytes, str]:
    parts = "".join(
        f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
        for name, value in pairs
    )
    return f"{parts}--{boundary}--\r\n".encode(), f'multipart/form-data; boundary="{boundary}"'


def test_U07_an_empty_field_means_the_same_in_multipart_and_urlencoded_forms() -> None:
    pairs = [
        ("Body", ""),
        ("From", "whatsapp:+60120000001"),
        ("Digits", "1"),
        ("Digits", "2"),
        ("Text", "a\r\nb--"),
    ]
    body, content_type = multipart(pairs)
    encoded = parse_form(raw_body=urlencode(pairs).encode(), content_type=FORM)
    assert parse_form(raw_body=body, content_type=content_type) == encoded
    signature = signature_for(
        auth_token=TOKEN, url="https://mycompany.com/myapp.php?foo=1&bar=2", fields=encoded
    )
    assert check(signature=signature, body=body, content_type=content_type)
    assert check(signature=signature, body=urlencode(pairs).encode())
    assert not check(signature=signature, body=body.replace(b"+6012", b"+6013"), content_type=content_type)


def test_U07_a_file_in_a_multipart_form_is_not_signed() -> None:
    body, content_type = multipart([("Body", "hi")])
    file_part = b'--xYz\r\nContent-Disposition: form-data; name="f"; filename="a.txt"\r\n\r\ndata\r\n'
    fields = parse_form(raw_body=file_part + body, content_type=content_type)
    assert fields == FormFields(((b"Body", b"hi"),))


@pytest.mark.parametrize("entry", SIGNED, ids=lambda entry: entry["file"])
def test_each_sample_verifies_and_fails_with_one_byte_changed(entry: dict[str, Any]) -> None:
    url = urlsplit(entry["url"])
    body = (PAYLOADS / entry["file"]).read_bytes()
    known: dict[str, Any] = {
        "base": f"{url.scheme}://{url.netloc}",
        "path": url.path,
        "query": url.query,
        "tokens": (INDEX["twilio_auth_token"],),
        "content_type": entry["content_type"],
        "more": entry["headers"],
        "signature": None,
    }
    assert check(body=body, **known)
    for position in range(0, len(body), 37):
        changed = body[:position] + bytes([body[position] ^ 1]) + body[position + 1 :]
        assert not check(body=changed, **known)
    assert not check(body=body, **(known | {"query": url.query + "x"}))


@pytest.mark.parametrize(
    ("body", "content_type", "signature"),
    [
        (b"Body=%FF%00%ZZ", FORM, "x"),
        (BODY, FORM, None),
        (BODY, FORM, "ünï\ud83d"),
        (BODY, FORM, ""),
        (b"\xff\xfe", "multipart/form-data", "x"),
        (b"--b\r\nbroken", "multipart/form-data; boundary=b", "x"),
        (b"--b--", 'multipart/form-data; boundary="\r\n', "x"),
        (b"&" * 5_000, FORM, "x"),
        (b"a=1&" * 5_000, FORM, "x"),
        (b"{}", "application/json", "x"),
        (b"\x00", "\x00\ud83d", "x"),
    ],
)
def test_hostile_input_is_invalid_and_never_raises(
    body: bytes, content_type: str, signature: str | None
) -> None:
    assert check(signature=signature, body=body, content_type=content_type) is False
    assert (
        check(signature=signature, body=body, content_type=content_type, query=b"\xff&bodySHA256=\xff")
        is False
    )


def test_bytes_that_are_not_utf8_are_signed_as_they_came() -> None:
    fields = FormFields(((b"Body", b"\xff"),))
    signature = signature_for(auth_token=TOKEN, url="https://mycompany.com/myapp.php", fields=fields)
    assert check(signature=signature, body=b"Body=%FF", query="")
    assert fields.get("Body") == "\ufffd"
    assert fields.notes() == ("invalid_utf8:Body",)


pairs_strategy = st.lists(st.tuples(st.text(min_size=1), st.text()), min_size=1, max_size=8)


@given(pairs_strategy.map(dict))
def test_our_signature_is_the_sdks_for_any_form(form: dict[str, str]) -> None:
    url = "https://mycompany.com/x"
    fields = parse_form(raw_body=urlencode(form).encode(), content_type=FORM)
    assert signature_for(auth_token=TOKEN, url=url, fields=fields) == sdk_signature(url, form)


def test_the_body_hash_is_compared_over_the_raw_bytes() -> None:
    body = b'{"a":"\xff"}'
    query = f"bodySHA256={hashlib.sha256(body).hexdigest()}"
    signature = sdk_signature(f"https://mycompany.com/myapp.php?{query}", {})
    assert check(signature=signature, body=body, query=query, content_type="application/json; charset=utf-8")
