"""The words of lead lists in English, Malay, Chinese and Tamil: consent, languages, zones."""

import re
from functools import lru_cache
from typing import Final
from zoneinfo import available_timezones

from app.kernel.text import without_invisible


def vocabulary(words: str) -> frozenset[str]:
    """Return the words of a list that is written with spaces between them."""
    return frozenset(words.split())


YES_WORDS: Final = vocabulary(
    "yes y true t 1 ok okay agree agreed opt-in optin ya betul setuju ada 是 是的 同意 好 对 對 有 ✓ ✔ ✅ ஆம்"
)
NO_WORDS: Final = vocabulary(
    "no n false f 0 none disagree opt-out optout tidak tak tiada bukan "
    "否 不 不是 不同意 没有 沒有 无 ✗ ✘ ❌ இல்லை"
) | {"tidak setuju", "tak setuju", "not agreed", "opt out"}

_LANGUAGE_NAMES: Final = {
    "en": "en eng english inggeris bahasa_inggeris 英文 英语 英語 ஆங்கிலம்",
    "ms": "ms may msa bm malay melayu bahasa malaysia bahasa_melayu bahasa_malaysia malay_language "
    "马来文 马来语 馬來文 馬來語",
    "zh": "zh chi zho cn chinese mandarin cina bahasa_cina hanyu "
    "中文 华语 華語 华文 華文 汉语 漢語 普通话 国语 國語 简体中文 繁體中文",
    "ta": "ta tam tamil bahasa_tamil 淡米尔 淡米尔文 淡米尔语 泰米尔语 தமிழ்",
}
_LANGUAGES: Final = {
    name.replace("_", " "): code for code, names in _LANGUAGE_NAMES.items() for name in names.split()
}

_ZONE_NAMES: Final = {
    "kl": "Asia/Kuala_Lumpur",
    "kuala lumpur": "Asia/Kuala_Lumpur",
    "malaysia": "Asia/Kuala_Lumpur",
    "myt": "Asia/Kuala_Lumpur",
    "kuching": "Asia/Kuching",
    "sarawak": "Asia/Kuching",
    "kota kinabalu": "Asia/Kuching",
    "sabah": "Asia/Kuching",
    "singapore": "Asia/Singapore",
    "singapura": "Asia/Singapore",
    "新加坡": "Asia/Singapore",
    "吉隆坡": "Asia/Kuala_Lumpur",
    "马来西亚": "Asia/Kuala_Lumpur",
    "sgt": "Asia/Singapore",
    "utc": "UTC",
}


def folded(text: str) -> str:
    """Return text for comparing words: NFKC, invisible marks gone, casefolded, single spaces."""
    return " ".join(without_invisible(text).casefold().split())


def tokens(header: str) -> tuple[str, ...]:
    """Return the words of a header, camelCase also taken apart; Chinese characters stay one word."""
    spellings = dict.fromkeys((header, _split_camel_case(header)))
    words = (word for spelling in spellings for word in re.split(r"[\W_]+", folded(spelling)) if word)
    return tuple(dict.fromkeys(words))


@lru_cache(maxsize=4096)
def consent_word(text: str) -> bool | None:
    """Return what a cell says about consent; None when the word is not known."""
    word = folded(text).rstrip(".!").removesuffix(".0")
    if word in YES_WORDS:
        return True
    return False if word in NO_WORDS else None


@lru_cache(maxsize=4096)
def language_code(text: str) -> str | None:
    """Return en, ms, zh or ta for a language's name or tag (`ms-MY`); None when it is not known."""
    word = folded(text)
    return _LANGUAGES.get(word) or _LANGUAGES.get(re.split(r"[-_ (/]", word, maxsplit=1)[0])


@lru_cache(maxsize=4096)
def zone_name(text: str) -> str | None:
    """Return the IANA name of a zone written as such (any case) or as a place; None when it is not known."""
    word = folded(text)
    return _ZONE_NAMES.get(word) or _zones().get(word.replace(" ", "_"))


@lru_cache(maxsize=1)
def _zones() -> dict[str, str]:
    """Names that a person may mean: an area and a place, not the abbreviations that differ by country."""
    return {
        zone.casefold(): zone
        for zone in available_timezones()
        if "/" in zone and not zone.startswith("posix")
    }


def _split_camel_case(text: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text)
