"""Which column means what: a proposal by the words of the headers, which the person can correct."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from app.contacts.imports.domain.words import folded, tokens, vocabulary
from app.kernel.emails import normalise_email


class Target(StrEnum):
    """What a column can become."""

    NAME = "full_name"
    FIRST_NAME = "first_name"
    LAST_NAME = "last_name"
    PHONE = "phone"
    EMAIL = "email"
    LANGUAGE = "language"
    ZONE = "time_zone"
    CONSENT_WHATSAPP = "consent_whatsapp"
    CONSENT_SMS = "consent_sms"
    CONSENT_EMAIL = "consent_email"
    EXTERNAL_ID = "external_id"
    SOURCE = "source"
    ATTRIBUTE = "attribute"
    IGNORE = "ignore"


MANY: Final = frozenset({Target.ATTRIBUTE, Target.IGNORE})
CONSENTS: Final = {
    "whatsapp": Target.CONSENT_WHATSAPP,
    "sms": Target.CONSENT_SMS,
    "email": Target.CONSENT_EMAIL,
}


@dataclass(frozen=True, slots=True)
class Column:
    """One column of the file: `index` from 0, its header as written, what it means, its attribute's name."""

    index: int
    header: str
    target: Target
    attribute: str = ""


@dataclass(frozen=True, slots=True)
class Problem:
    """Something the person must decide before the file can be read; `columns` are indices from 0."""

    code: str
    message: str
    columns: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ColumnMapping:
    """A target for every column of a file, and what still stands in the way."""

    columns: tuple[Column, ...]
    problems: tuple[Problem, ...] = ()

    def index_of(self, target: Target) -> int | None:
        """Return the column of a target that only one column can have."""
        return next((column.index for column in self.columns if column.target is target), None)

    def as_targets(self) -> tuple[str, ...]:
        """Return the mapping as plain words, one a column: what is stored, and hashed with the content."""
        return tuple(column.target.value for column in self.columns)


def propose_mapping(header: Sequence[str]) -> ColumnMapping:
    """Return the mapping that the headers' words suggest.

    Two columns with one header, or two that mean the same, are a problem for the person: nothing is chosen
    by position. Columns without a known meaning are kept as attributes.
    """
    targets = tuple(_meaning(name) for name in header)
    mapping = _build(header, targets)
    problems = (
        *_headers_that_clash(header),
        *_targets_taken_twice(mapping.columns),
        *_missing(header, mapping),
    )
    return ColumnMapping(columns=mapping.columns, problems=_once(problems))


def chosen_mapping(header: Sequence[str], *, targets: Sequence[str]) -> ColumnMapping:
    """Return the mapping a person chose, one target a column in the file's order.

    Equal headers are no problem any more: the person has said what each column is. Raises ValueError for
    an unknown target or another number of targets than columns.
    """
    if len(targets) != len(header):
        raise ValueError("one target for each column is needed")
    mapping = _build(header, tuple(Target(target) for target in targets))
    problems = (*_targets_taken_twice(mapping.columns), *_missing(header, mapping))
    return ColumnMapping(columns=mapping.columns, problems=problems)


def corrected_mapping(proposal: ColumnMapping, *, corrections: Mapping[int, str]) -> ColumnMapping:
    """Return the proposal with some columns (by index) set by a person."""
    header = [column.header for column in proposal.columns]
    targets = [corrections.get(column.index, column.target.value) for column in proposal.columns]
    corrected = chosen_mapping(header, targets=targets)
    clashes = [p for p in _headers_that_clash(header) if not set(p.columns) & set(corrections)]
    return ColumnMapping(columns=corrected.columns, problems=_once((*clashes, *corrected.problems)))


def _build(header: Sequence[str], targets: Sequence[Target]) -> ColumnMapping:
    taken: Counter[str] = Counter()
    columns: list[Column] = []
    for index, (name, target) in enumerate(zip(header, targets, strict=True)):
        attribute = _attribute_name(name, index, taken) if target is Target.ATTRIBUTE else ""
        columns.append(Column(index=index, header=name, target=target, attribute=attribute))
    return ColumnMapping(columns=tuple(columns))


def _attribute_name(header: str, index: int, taken: Counter[str]) -> str:
    """A short key in the person's own words; a second column of the same name gets its position."""
    words = re.sub(r"[\W_]+", "_", folded(header)).strip("_")[:60] or f"column_{index + 1}"
    taken[words] += 1
    return words if taken[words] == 1 else f"{words}_{index + 1}"


def _headers_that_clash(header: Sequence[str]) -> tuple[Problem, ...]:
    places: dict[str, list[int]] = {}
    for index, name in enumerate(header):
        if folded(name):
            places.setdefault(folded(name), []).append(index)
    return tuple(
        Problem(
            code="headers_clash",
            message=(
                f"{_columns(indices)} have the same header “{header[indices[0]].strip()}”. "
                "Choose what each one is."
            ),
            columns=tuple(indices),
        )
        for indices in places.values()
        if len(indices) > 1
    )


def _targets_taken_twice(columns: Iterable[Column]) -> tuple[Problem, ...]:
    places: dict[Target, list[int]] = {}
    for column in columns:
        if column.target not in MANY:
            places.setdefault(column.target, []).append(column.index)
    return tuple(
        Problem(
            code="target_twice",
            message=f"{_columns(indices)} are both read as {LABELS[target]}. Keep one and change the others.",
            columns=tuple(indices),
        )
        for target, indices in places.items()
        if len(indices) > 1
    )


def _missing(header: Sequence[str], mapping: ColumnMapping) -> tuple[Problem, ...]:
    if any(_looks_like_data(name) for name in header):
        message = "The first line looks like a lead, not like headers. Add a header row to the file."
        return (Problem(code="no_header", message=message),)
    if mapping.index_of(Target.PHONE) is None and mapping.index_of(Target.EMAIL) is None:
        message = "No column is read as the phone or the e-mail address. Choose which one it is."
        return (Problem(code="no_identity", message=message),)
    return ()


def _looks_like_data(name: str) -> bool:
    if len(re.sub(r"\D", "", name)) >= 8 and not re.search(r"[^\W\d_]", name):
        return True
    return normalise_email(name).identity is not None


def _once(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """One problem for the same columns is enough."""
    first: dict[object, Problem] = {}
    for problem in problems:
        first.setdefault(problem.columns or problem.code, problem)
    return tuple(first.values())


def _columns(indices: Sequence[int]) -> str:
    numbers = [str(index + 1) for index in indices]
    return f"Columns {', '.join(numbers[:-1])} and {numbers[-1]}"


LABELS: Final[Mapping[Target, str]] = {
    Target.NAME: "the name",
    Target.FIRST_NAME: "the first name",
    Target.LAST_NAME: "the last name",
    Target.PHONE: "the phone",
    Target.EMAIL: "the e-mail address",
    Target.LANGUAGE: "the language",
    Target.ZONE: "the time zone",
    Target.CONSENT_WHATSAPP: "consent for WhatsApp",
    Target.CONSENT_SMS: "consent for SMS",
    Target.CONSENT_EMAIL: "consent for e-mail",
    Target.EXTERNAL_ID: "your own id",
    Target.SOURCE: "the source",
    Target.ATTRIBUTE: "more about the lead",
    Target.IGNORE: "not imported",
}

_CONSENT = vocabulary(
    "consent optin optout permission agree agreed persetujuan kebenaran setuju izin keizinan"
)
_CONSENT_HAN = ("同意", "许可", "許可", "授权", "授權")
_EMAIL = vocabulary("email emails emel mel mail")
_EMAIL_HAN = ("邮箱", "郵箱", "电邮", "電郵", "邮件", "郵件")
_SMS = frozenset({"sms"})
_SMS_HAN = ("短信", "简讯", "簡訊")
_WHATSAPP = frozenset({"whatsapp", "wa", "wsapp"})
_PHONE = vocabulary("phone phones mobile tel telefon telephone handphone hp cell cellphone bimbit msisdn")
_PHONE_HAN = ("手机", "手機", "电话", "電話")
_PHONE_NOT = vocabulary("type jenis brand model emergency kecemasan")
_LANGUAGE = vocabulary("language lang locale bahasa")
_LANGUAGE_HAN = ("语言", "語言")
_ZONE = vocabulary("timezone tz zon")
_ZONE_HAN = ("时区", "時區")
_NAME = vocabulary("name nama fullname")
_NAME_HAN = ("姓名", "名字")
_FIRST = vocabulary("first given forename firstname pertama")
_LAST = vocabulary("last family surname lastname keluarga")
_OTHER_PERSON = vocabulary(
    "child children anak kid kids student pelajar school sekolah company syarikat user file campaign program "
    "programme adviser agent friend"
)
_OTHER_HAN = ("孩子", "学校", "學校", "公司", "学生", "學生", "儿童", "兒童")
_ID = frozenset({"id", "uid", "ref", "reference", "externalid", "leadid"})
_ID_WITH = vocabulary("external lead customer contact crm record ext our reference ref id uid no number")
_SOURCE = frozenset({"source", "sumber"})


def _meaning(header: str) -> Target:
    words, plain = frozenset(tokens(header)), folded(header)
    if words & _CONSENT or {"opt", "in"} <= words or _has(plain, _CONSENT_HAN):
        return _consent_meaning(words, plain)
    if words & _OTHER_PERSON or _has(plain, _OTHER_HAN):
        return Target.ATTRIBUTE
    return _contact_meaning(words, plain) or _person_meaning(words, plain) or Target.ATTRIBUTE


def _consent_meaning(words: frozenset[str], plain: str) -> Target:
    """Consent without a channel's name stays an attribute: the person says which channel was meant."""
    channels = [
        channel
        for channel, found in (
            (Target.CONSENT_WHATSAPP, words & _WHATSAPP),
            (Target.CONSENT_SMS, words & _SMS or _has(plain, _SMS_HAN)),
            (Target.CONSENT_EMAIL, words & _EMAIL or {"e", "mail"} <= words or _has(plain, _EMAIL_HAN)),
        )
        if found
    ]
    return channels[0] if len(channels) == 1 else Target.ATTRIBUTE


def _contact_meaning(words: frozenset[str], plain: str) -> Target | None:
    if words & _EMAIL or _has(plain, _EMAIL_HAN):
        return Target.EMAIL
    if words & _PHONE_NOT:
        return None
    if words & _PHONE or _has(plain, _PHONE_HAN) or words & _WHATSAPP:
        return Target.PHONE
    if words in ({"contact", "no"}, {"contact", "number"}, {"no", "hubungan"}, {"nombor", "hubungan"}):
        return Target.PHONE
    return None


def _person_meaning(words: frozenset[str], plain: str) -> Target | None:
    if words & _ZONE or {"time", "zone"} <= words or _has(plain, _ZONE_HAN):
        return Target.ZONE
    if words & _LANGUAGE or _has(plain, _LANGUAGE_HAN):
        return Target.LANGUAGE
    if words & _NAME or words & _LAST or _has(plain, _NAME_HAN):
        return _name_meaning(words)
    if words & _ID and words <= _ID_WITH:
        return Target.EXTERNAL_ID
    if words & _SOURCE and len(words) <= 2:
        return Target.SOURCE
    return None


def _name_meaning(words: frozenset[str]) -> Target:
    if words & _FIRST:
        return Target.FIRST_NAME
    return Target.LAST_NAME if words & _LAST else Target.NAME


def _has(plain: str, parts: Iterable[str]) -> bool:
    return any(part in plain for part in parts)
