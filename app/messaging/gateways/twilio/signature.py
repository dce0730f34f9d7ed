"""Is this call really from Twilio? Source: twilio.com/docs/usage/security and the SDK's request_validator."""

import base64
import hashlib
import hmac
from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import parse_qs, urlsplit

from app.messaging.gateways.twilio.forms import FormFields, UnreadableFormError, is_form, parse_form

SIGNATURE_HEADER = "X-Twilio-Signature"
SETTINGS_HEADER = "X-Twilio-Webhooks-Signature-Settings"
_ALGORITHMS = {"HMAC_SHA1": hashlib.sha1, "HMAC_SHA256": hashlib.sha256}
_DEFAULT_PORTS = {"https": 443, "http": 80}


def verify_signature(
    *,
    auth_tokens: Sequence[str],
    public_base_url: str,
    path: str | bytes,
    raw_query: str | bytes,
    raw_body: bytes,
    content_type: str,
    headers: Mapping[str, str],
    shared_keys: Mapping[str, str] | None = None,
) -> bool:
    """Whether one of our tokens signed exactly this call.

    The signed address is the configured public base, the path as it came and the query as it came: headers
    that proxies or strangers set play no part. Forms are signed with their fields; anything else must carry a
    `bodySHA256` in the query, else it is invalid. Several tokens hold while one is being replaced;
    `shared_keys` (id → secret) serve calls whose settings header names one. Every candidate is compared
    in constant time. Never raises: what cannot be read is invalid. No token or an empty one never matches.
    """
    given = _header(headers, SIGNATURE_HEADER).strip().encode("utf-8", "replace")
    key_id, algorithm = _settings(_header(headers, SETTINGS_HEADER))
    digest = _ALGORITHMS.get(algorithm)
    if not given or digest is None:
        return False
    signed_fields = _signed_fields(raw_query, raw_body, content_type)
    if signed_fields is None:
        return False
    shared = (shared_keys or {}).get(key_id)
    secrets = [shared] if shared else list(auth_tokens)
    valid = False
    for secret in filter(None, secrets):
        for url in _url_variants(public_base_url, _bytes(path), _bytes(raw_query)):
            mac = hmac.new(secret.encode("utf-8"), url + signed_fields, digest)
            valid |= hmac.compare_digest(base64.b64encode(mac.digest()), given)
    return valid


def signature_for(*, auth_token: str, url: str, fields: FormFields, algorithm: str = "HMAC_SHA1") -> str:
    """The signature Twilio would send for a form post to `url`."""
    mac = hmac.new(auth_token.encode("utf-8"), _bytes(url) + _canonical(fields), _ALGORITHMS[algorithm])
    return base64.b64encode(mac.digest()).decode("ascii")


def _signed_fields(raw_query: str | bytes, raw_body: bytes, content_type: str) -> bytes | None:
    """What is signed after the address: the fields of a form, nothing for other bodies; None if invalid."""
    if is_form(content_type):
        try:
            return _canonical(parse_form(raw_body=raw_body, content_type=content_type))
        except UnreadableFormError:
            return None
    if not raw_body and not content_type.strip():
        return b""
    return b"" if _body_hash_holds(raw_query, raw_body) else None


def _canonical(fields: FormFields) -> bytes:
    """Names in byte order, of each the distinct values in byte order, without separators."""
    return b"".join(name + value for name, value in sorted(set(fields.pairs)))


def _body_hash_holds(raw_query: str | bytes, raw_body: bytes) -> bool:
    try:
        hashes = parse_qs(_bytes(raw_query).decode("ascii"), max_num_fields=100).get("bodySHA256", [])
    except ValueError:
        return False
    actual = hashlib.sha256(raw_body).hexdigest().encode("ascii")
    return len(hashes) == 1 and hmac.compare_digest(actual, hashes[0].lower().encode("utf-8", "replace"))


def _url_variants(base: str, path: bytes, raw_query: bytes) -> Iterator[bytes]:
    """The address as configured, without its port, and with the default one: Twilio signs either."""
    rest = path + (b"?" + raw_query if raw_query else b"")
    clean_base = base.rstrip("/")
    try:
        parts = urlsplit(clean_base)
        port = parts.port
    except ValueError:
        return
    host = parts.netloc.removesuffix(f":{port}") if port is not None else parts.netloc
    netlocs = [parts.netloc, host]
    if port is None and parts.scheme in _DEFAULT_PORTS:
        netlocs.append(f"{host}:{_DEFAULT_PORTS[parts.scheme]}")
    for netloc in dict.fromkeys(netlocs):
        yield _bytes(parts._replace(netloc=netloc).geturl()) + rest


def _settings(header: str) -> tuple[str, str]:
    """Key id and algorithm; no header means that the auth token signed with SHA-1."""
    values = dict.fromkeys(("key", "algorithm"), "")
    for part in header.split(","):
        name, _, value = part.partition("=")
        if name.strip() in values:
            values[name.strip()] = value.strip()
    return values["key"], values["algorithm"].upper() or "HMAC_SHA1"


def _header(headers: Mapping[str, str], name: str) -> str:
    wanted = name.lower()
    return next((str(value) for key, value in headers.items() if str(key).lower() == wanted), "")


def _bytes(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
