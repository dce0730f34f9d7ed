import pytest

from app.messaging.domain.opt_out import OptOut, classify, normalise


def verdict(text: str, **more: object) -> OptOut:
    return classify(text, **more).verdict  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text",
    [
        "We have got to STOP meeting on Fridays!",
        "stop by at 5?",
        "stop by",
        "non-stop flight",
        "Unstoppable",
        "Can you stop at the school?",
        "end of the month is fine",
        "Which bus stop?",
        "HELP me choose",
        "berapa yuran?",
        "好的，谢谢",
        "",
        "🙏",
        "please",
    ],
)
def test_J01_a_stop_inside_a_friendly_sentence_is_a_reply(text: str) -> None:
    assert verdict(text) is OptOut.NONE


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("STOP", OptOut.STOP),
        ("STOP ALL", OptOut.STOP),
        ("STOP please", OptOut.STOP),
        ("STOP 12345", OptOut.DOUBTFUL),
        ("END CALL", OptOut.DOUBTFUL),
        ("CANCEL 3pm", OptOut.DOUBTFUL),
        ("stop it", OptOut.DOUBTFUL),
    ],
)
def test_J05_bare_words_stop_and_words_with_an_argument_go_to_a_person(text: str, expected: OptOut) -> None:
    assert verdict(text) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("no me manden más facturas por correo", OptOut.NONE),
        ("não me mande mais boletos", OptOut.NONE),
        ("no me manden más mensajes", OptOut.STOP),
    ],
)
def test_J03_a_complaint_about_something_else_is_no_opt_out(text: str, expected: OptOut) -> None:
    assert verdict(text) is expected


@pytest.mark.parametrize(
    "text",
    ["stop", "StopAll", "unsubscribe", "opt-out", "OPT OUT", "revoke", "Remove me", "Berhenti", "hentikan"]
    + [
        "jangan hantar",
        "berhenti berlangganan",
        "unsub",
        "停止",
        "退订",
        "退訂",
        "取消订阅",
        "拒收",
        "TD",
        "t",
    ]
    + ["நிறுத்து", "நிறுத்தவும்", "PARAR", "Cancelar suscripción", "sair", "descadastrar", "Arrêt", "ARRETE"]
    + ["désabonner", "إيقاف", "الغاء الاشتراك", "बंद", "रोकें", "स्टॉप"]
    + ["ＳＴＯＰ", "Stop.", "¡STOP!", "stop 🛑", "s\u200bt\u200bop", "  stop\n", "stop stop stop", "ok stop"],
)
def test_a_stop_word_of_any_language_as_the_whole_message_stops(text: str) -> None:
    assert verdict(text) is OptOut.STOP


@pytest.mark.parametrize(
    "text", ["cancel", "END", "quit", "batal", "取消", "baja", "cancelar", "إلغاء", "வேண்டாம்"]
)
def test_an_ambiguous_word_alone_is_held_for_a_person(text: str) -> None:
    assert verdict(text) is OptOut.DOUBTFUL


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("stop messaging me", OptOut.STOP),
        ("Please don’t message me again", OptOut.STOP),
        ("Jangan mesej saya lagi", OptOut.STOP),
        ("请不要再发信息给我", OptOut.STOP),
        ("I said stop sending me these ads or I report you", OptOut.DOUBTFUL),
        ("please dont text me in the mornings", OptOut.DOUBTFUL),
    ],
)
def test_a_request_in_words_stops_and_inside_a_sentence_goes_to_a_person(text: str, expected: OptOut) -> None:
    assert verdict(text) is expected


@pytest.mark.parametrize(
    "text", ["start", "UNSTOP", "resume", "mula", "mulai", "开始", "ابدأ", "शुरू", "commencer"]
)
def test_start_words_start(text: str) -> None:
    assert verdict(text) is OptOut.START


def test_yes_starts_only_after_a_stop() -> None:
    assert verdict("Yes") is OptOut.NONE
    assert verdict("Yes!", after_stop=True) is OptOut.START
    assert verdict("Yes, tomorrow", after_stop=True) is OptOut.NONE


def test_what_the_provider_recognised_holds_and_it_has_already_replied() -> None:
    found = classify("Détente", opt_out_type="stop")
    assert (found.verdict, found.rule, found.provider_replied) == (OptOut.STOP, "provider:STOP", True)
    assert not classify("Berhenti").provider_replied
    assert verdict("hello", opt_out_type="SOMETHING") is OptOut.NONE


def test_every_verdict_but_none_names_its_rule() -> None:
    assert classify("Berhenti").rule == "word:ms:berhenti"
    assert classify("cancel").rule == "ambiguous:en:cancel"
    assert classify("STOP 12345").rule == "argument:stop"
    assert classify("hello").rule is None


def test_hostile_text_is_classified_without_an_error() -> None:
    assert verdict("stop " * 100_000) is OptOut.STOP
    assert verdict("\x00\ud83d\u202estop") is OptOut.STOP
    assert verdict("नमस्ते") is OptOut.NONE


def test_normalising_twice_changes_nothing_more() -> None:
    for text in ("ＳＴＯＰ!", "Don’t", "désabonner", "हिन्दी", "A\u0301 b"):
        assert normalise(normalise(text)) == normalise(text)
