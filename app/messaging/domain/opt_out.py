"""Does this message ask us to stop (or to start again)? Whole-message matching, per language.

Rules, in this order:
1. What the provider recognised itself (`opt_out_type`) holds.
2. The whole message, normalised, is a stop word or stop phrase → STOP. "stop all", "stop please", "please
   stop" count as the bare word: courtesy words and "all" change nothing about the wish.
3. The whole message is an ambiguous word ("cancel", "baja", "取消") → DOUBTFUL: it often concerns an
   appointment.
4. The whole message is a request in so many words ("stop messaging me", "no me manden más mensajes") → STOP.
5. A stop word with an argument of one or two words that could be a topic ("STOP 12345", "CANCEL 3pm"), or
   such a request inside a longer message → DOUBTFUL: a person decides; it is never silently ignored.
6. Start and help words, again as the whole message only. "yes" starts only after a STOP.
7. Everything else is a reply like any other: "stop by at 5?", "non-stop flight".
"""

import re
import unicodedata
from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class OptOut(StrEnum):
    STOP = "stop"
    START = "start"
    HELP = "help"
    DOUBTFUL = "doubtful"
    """It may be a wish to stop: hold marketing, let a person decide."""
    NONE = "none"


@dataclass(frozen=True, slots=True)
class OptOutVerdict:
    """The verdict and the rule that gave it (`provider:STOP`, `word:ms:berhenti`, `argument:stop`).

    `provider_replied` says that the provider has already confirmed to the person: we must not do so again.
    """

    verdict: OptOut
    rule: str | None = None
    provider_replied: bool = False


def classify(text: str, *, opt_out_type: str | None = None, after_stop: bool = False) -> OptOutVerdict:
    """Judge one inbound text. `after_stop`: the person's channel is closed by an earlier STOP.

    Never raises; text of any length and script is allowed.
    """
    if opt_out_type is not None and (given := _PROVIDER.get(opt_out_type.strip().upper())):
        return OptOutVerdict(given, f"provider:{given.upper()}", provider_replied=True)
    words = normalise(text[:_LONGEST])
    if not words:
        return OptOutVerdict(OptOut.NONE)
    return (
        _whole(words, after_stop=after_stop)
        or _request(words)
        or _with_argument(words)
        or _request_inside(words)
        or _NONE
    )


def normalise(text: str) -> str:
    """NFKC, case folded, without punctuation, emoji and invisible characters, single spaces, trimmed."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    kept = "".join(_kept(c) for c in folded)
    return " ".join(kept.split())


def _kept(char: str) -> str:
    category = unicodedata.category(char)
    if char in "'’":
        return ""
    if category[0] in "LN" or (category in {"Mc", "Mn"} and not _is_variation_selector(char)):
        return char
    return "" if category in {"Cf", "Mn"} else " "


def _is_variation_selector(char: str) -> bool:
    return "︀" <= char <= "️"


def _whole(words: str, *, after_stop: bool) -> OptOutVerdict | None:
    for candidate in (words, _without_courtesy(words)):
        if candidate in _STOP:
            return OptOutVerdict(OptOut.STOP, f"word:{_STOP[candidate]}:{candidate}")
        if candidate in _AMBIGUOUS:
            return OptOutVerdict(OptOut.DOUBTFUL, f"ambiguous:{_AMBIGUOUS[candidate]}:{candidate}")
        if candidate in _START:
            return OptOutVerdict(OptOut.START, f"word:{_START[candidate]}:{candidate}")
        if after_stop and candidate in _START_AFTER_STOP:
            return OptOutVerdict(OptOut.START, f"word_after_stop:{_START_AFTER_STOP[candidate]}:{candidate}")
        if candidate in _HELP:
            return OptOutVerdict(OptOut.HELP, f"word:{_HELP[candidate]}:{candidate}")
    return None


def _without_courtesy(words: str) -> str:
    """Courtesy words and repetitions left out ("please stop", "stop stop stop" → "stop")."""
    kept = [w for w in words.split() if w not in _COURTESY]
    return " ".join(w for i, w in enumerate(kept) if i == 0 or w != kept[i - 1])


def _with_argument(words: str) -> OptOutVerdict | None:
    """A stop or ambiguous word first, and one or two words after it that make no everyday phrase."""
    first, *rest = _without_courtesy(words).split() or [""]
    if first not in _ARGUMENT_WORDS or not 1 <= len(rest) <= 2 or rest[0] in _EVERYDAY_AFTER_STOP:
        return None
    return OptOutVerdict(OptOut.DOUBTFUL, f"argument:{first}")


def _request(words: str) -> OptOutVerdict | None:
    for language, pattern in _REQUESTS:
        if pattern.fullmatch(_without_courtesy(words)):
            return OptOutVerdict(OptOut.STOP, f"request:{language}")
    return None


def _request_inside(words: str) -> OptOutVerdict | None:
    for language, pattern in _REQUESTS:
        if pattern.search(words):
            return OptOutVerdict(OptOut.DOUBTFUL, f"request_inside:{language}")
    return None


_LONGEST: Final = 4_000
_NONE: Final = OptOutVerdict(OptOut.NONE)
_PROVIDER: Final = {"STOP": OptOut.STOP, "START": OptOut.START, "HELP": OptOut.HELP}


def _by_word(lists: dict[str, str]) -> dict[str, str]:
    """Normalised word → the first language that lists it (several share "stop")."""
    table: dict[str, str] = {}
    for language, listed in lists.items():
        for word in listed.split(","):
            table.setdefault(normalise(word), language)
    return table


# English words are the provider's own list; the others are a proposal that a native speaker should confirm.
_STOP: Final = _by_word(
    {
        "en": "stop, stopall, stop all, unsubscribe, optout, opt out, revoke, remove, remove me, take me off",
        "ms": "berhenti, henti, hentikan, jangan hantar, jangan hantar lagi, nyahlanggan, stop semua",
        "id": "berhenti berlangganan, unsub, jangan kirim, jangan kirim lagi",
        "zh": "停止, 退订, 退訂, 取消订阅, 取消訂閱, 拒收, td, t, 不要再发, 不要再發, 别再发了, 別再發了",
        "ta": "நிறுத்து, நிறுத்தவும்",
        "es": "parar, alto, detener, cancelar suscripción, cancelar suscripcion",
        "pt": "pare, sair, descadastrar, remover",
        "fr": "arret, arrêt, arrete, arrêter, arreter, désabonner, desabonner",
        "ar": "إيقاف, ايقاف, توقف, الغاء الاشتراك, إلغاء الاشتراك",
        "hi": "बंद, बंद करो, रोकें, स्टॉप",
    }
)
_AMBIGUOUS: Final = _by_word(
    {
        "en": "cancel, end, quit, not interested, stop it, stop this, stop that",
        "ms": "batal, tak berminat, tidak berminat",
        "zh": "取消",
        "ta": "வேண்டாம்",
        "es": "baja, cancelar",
        "pt": "cancelar",
        "ar": "إلغاء, الغاء",
    }
)
_START: Final = _by_word(
    {
        "en": "start, unstop, resume",
        "ms": "mula, langgan",
        "id": "mulai, langganan",
        "zh": "开始, 開始, 订阅, 訂閱",
        "ta": "தொடங்கு",
        "es": "iniciar, empezar",
        "pt": "começar, comecar, voltar",
        "fr": "commencer",
        "ar": "ابدأ, اشتراك",
        "hi": "शुरू",
    }
)
_START_AFTER_STOP: Final = _by_word(
    {"en": "yes", "ms": "ya", "zh": "是", "es": "sí, si", "pt": "sim", "fr": "oui"}
)
_HELP: Final = _by_word(
    {"en": "help, info", "ms": "bantuan", "zh": "帮助, 幫助", "es": "ayuda", "fr": "aide"}
)
_COURTESY: Final = frozenset(
    (
        *("please", "pls", "plz", "now", "thanks", "thank", "you", "tq", "ok", "hi", "hello", "all"),
        *("sila", "tolong", "terima", "kasih", "la", "lah", "por", "favor", "merci"),
    )
)
_ARGUMENT_WORDS: Final = frozenset(
    word for word in (*_STOP, *_AMBIGUOUS) if " " not in word and word not in {"t", "td", "remove"}
)
# "stop by", "end of …", "quit smoking": a stop word that begins an everyday phrase.
_EVERYDAY_AFTER_STOP: Final = frozenset(
    (
        *(
            "by",
            "at",
            "in",
            "over",
            "it",
            "there",
            "here",
            "being",
            "of",
            "the",
            "that",
            "this",
            "for",
            "and",
        ),
        *("worrying", "joking", "laughing", "kidding", "smoking"),
    )
)


def _pattern(*alternatives: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(alternatives)})(?!\w)")


_REQUESTS: Final = (
    (
        "en",
        _pattern(
            r"stop (?:messaging|texting|contacting|sending|spamming|whatsapping|calling)(?: me)?"
            r"(?: (?:any more |more |these |those |your )?(?:messages|texts|ads|spam|promotions|promos))?",
            r"(?:do not|dont) (?:message|text|contact|whatsapp|msg) me(?: again| any ?more)?",
            r"(?:unsubscribe|remove|delete|take) me(?: off)?(?: from)? (?:this|the|your) list",
            r"(?:do not|dont) want (?:any more|more|these|your) (?:messages|texts|ads)",
            r"no more (?:messages|texts|ads)",
        ),
    ),
    (
        "ms",
        _pattern(
            r"jangan (?:mesej|hantar mesej|hubungi|whatsapp|kacau|ganggu)(?: (?:saya|kami))?(?: lagi)?",
            r"berhenti (?:hantar|mesej)(?: mesej)?(?: (?:saya|kepada saya))?",
        ),
    ),
    (
        "zh",
        # Written without spaces, so no word borders.
        re.compile(
            r"[请請]?(?:不要|[别別])再(?:[给給]我)?(?:[发發传傳]|联系|聯繫)"
            r"(?:信息|消息|訊息|讯息|短信|简讯|簡訊)?(?:[给給]?我)?了?"
        ),
    ),
    # "no more messages", not "no more invoices": the object decides, none at all counts as messages.
    (
        "es",
        re.compile(
            r"\bno me (?:manden|mandes|envien|envíen|escriban) m[áa]s(?: mensajes| publicidad)?(?! ?\w)"
        ),
    ),
    (
        "pt",
        re.compile(r"\bn[ãa]o me (?:mande|mandem|envie|enviem) mais(?: mensagens| propaganda)?(?! ?\w)"),
    ),
)
