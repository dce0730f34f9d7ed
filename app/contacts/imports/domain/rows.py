"""What one row says about a person: values and warnings, or the reason it is no use."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from app.contacts.imports.domain.mapping import CONSENTS, ColumnMapping, Target
from app.contacts.imports.domain.sniffing import Record
from app.contacts.imports.domain.words import consent_word, language_code, zone_name
from app.kernel.emails import EMAIL_BLANK, INVALID_EMAIL, normalise_email
from app.kernel.names import clean_name
from app.kernel.phones import PHONE_BLANK, normalise_phone
from app.kernel.text import one_line

NO_IDENTITY: Final = "no_identity"
CONSENT_NOT_UNDERSTOOD: Final = "consent_not_understood"
LANGUAGE_UNKNOWN: Final = "language_unknown"
ZONE_UNKNOWN: Final = "zone_unknown"
VALUE_CUT: Final = "value_cut"

_MAX_VALUE_CHARS: Final = 1000


@dataclass(frozen=True, slots=True)
class LeadRow:
    """One row, read. `phone` is E.164, `email` the identity (casefolded); None where there is none.

    `consents` holds only channels the row speaks about: a blank changes nothing, a word that is not
    understood is False (no consent may be read into it). `reason` is set when the row cannot become a lead.
    """

    row: int
    line: int
    phone: str | None = None
    email: str | None = None
    external_id: str | None = None
    name: str | None = None
    language: str | None = None
    time_zone: str | None = None
    source: str | None = None
    consents: Mapping[str, bool] = field(default_factory=dict)
    attributes: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class RowReader:
    """Reads records of one file: its mapping, and the country (ISO 3166) of numbers written without one."""

    mapping: ColumnMapping
    default_country: str

    def read(self, record: Record) -> LeadRow:
        """Return what the record says. Deterministic; never raises for any content of cells."""
        if record.problem is not None:
            return LeadRow(row=record.row, line=record.line, warnings=record.warnings, reason=record.problem)
        warnings = list(record.warnings)
        phone, phone_reason = self._phone(record, warnings)
        email, email_reason = self._email(record, warnings)
        if phone is None and email is None:
            reason = phone_reason or email_reason or NO_IDENTITY
            return LeadRow(row=record.row, line=record.line, warnings=_unique(warnings), reason=reason)
        return self._lead(record, warnings, phone=phone, email=email)

    def _phone(self, record: Record, warnings: list[str]) -> tuple[str | None, str | None]:
        result = normalise_phone(self._cell(record, Target.PHONE), default_country=self.default_country)
        warnings.extend(result.warnings)
        if result.reason is None or result.reason == PHONE_BLANK:
            return result.e164, None
        warnings.append(result.reason)
        return None, result.reason

    def _email(self, record: Record, warnings: list[str]) -> tuple[str | None, str | None]:
        result = normalise_email(self._cell(record, Target.EMAIL))
        if result.reason is None or result.reason == EMAIL_BLANK:
            return result.identity, None
        warnings.append(INVALID_EMAIL)
        return None, INVALID_EMAIL

    def _lead(self, record: Record, warnings: list[str], *, phone: str | None, email: str | None) -> LeadRow:
        name = self._name(record, warnings)
        language = self._language(record, warnings)
        zone = self._zone(record, warnings)
        consents = self._consents(record, warnings)
        attributes = self._attributes(record, warnings)
        return LeadRow(
            row=record.row,
            line=record.line,
            phone=phone,
            email=email,
            external_id=one_line(self._cell(record, Target.EXTERNAL_ID))[:200] or None,
            name=name,
            language=language,
            time_zone=zone,
            source=one_line(self._cell(record, Target.SOURCE))[:200] or None,
            consents=consents,
            attributes=attributes,
            warnings=_unique(warnings),
        )

    def _name(self, record: Record, warnings: list[str]) -> str | None:
        parts = [self._cell(record, t) for t in (Target.FIRST_NAME, Target.LAST_NAME)]
        result = clean_name(self._cell(record, Target.NAME) or " ".join(part for part in parts if part))
        warnings.extend(result.warnings)
        return result.name

    def _language(self, record: Record, warnings: list[str]) -> str | None:
        text = self._cell(record, Target.LANGUAGE)
        code = language_code(text)
        if code is None and text.strip():
            warnings.append(LANGUAGE_UNKNOWN)
        return code

    def _zone(self, record: Record, warnings: list[str]) -> str | None:
        text = self._cell(record, Target.ZONE)
        zone = zone_name(text) if text.strip() else None
        if zone is None and text.strip():
            warnings.append(ZONE_UNKNOWN)
        return zone

    def _consents(self, record: Record, warnings: list[str]) -> dict[str, bool]:
        said: dict[str, bool] = {}
        for channel, target in CONSENTS.items():
            text = self._cell(record, target)
            if not text.strip():
                continue
            word = consent_word(text)
            if word is None:
                warnings.append(CONSENT_NOT_UNDERSTOOD)
            said[channel] = bool(word)
        return said

    def _attributes(self, record: Record, warnings: list[str]) -> dict[str, str]:
        values: dict[str, str] = {}
        for column in self.mapping.columns:
            if column.target is not Target.ATTRIBUTE:
                continue
            value = record.cells[column.index].strip()
            if len(value) > _MAX_VALUE_CHARS:
                value = value[:_MAX_VALUE_CHARS]
                warnings.append(VALUE_CUT)
            if value:
                values[column.attribute] = value
        return values

    def _cell(self, record: Record, target: Target) -> str:
        index = self.mapping.index_of(target)
        return "" if index is None else record.cells[index]


def _unique(codes: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(codes))
