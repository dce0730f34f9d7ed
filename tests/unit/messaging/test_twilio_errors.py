import re
from datetime import timedelta

import pytest

from app.messaging.domain.addresses import Address, AddressKind, Channel
from app.messaging.domain.error_map import Disposition as D
from app.messaging.gateways.twilio.errors import RULES, disposition_for, rule_for

# One code or more for each row of the table of causes.
TABLE = {
    D.CREDS: "20003 20005 20006 21608 30002 63001 63008 63020 63022 63051 63062",
    D.UNKNOWN: "20500 20503",
    D.DEFER: "20429 21611 30001 30003 30017 30008 30022 30023 30410 63009 63010 63011 63012 "
    "63023 63017 63018 63038 63019 63049",
    D.MARK_BAD_ADDRESS: "21211 21614 30005 30006",
    D.SKIP: "21408 30004 63015 63029 63031 63032",
    D.SUPPRESS: "21610 63014 63033",
    D.UNREACHABLE: "63003 63024",
    D.TEMPLATE: "63016",
    D.PAUSE: "21212 21606 21603 21701 21703 21705 63007 63002 30018 30024 30032 "
    "30034 30450 63040 63041 63042",
    D.PAUSE_MARKETING: "63026",
    D.REVIEW: "20404 21602 21604 21617 21619 21620 21623 21654 21655 21656 21658 63005 63006 63013 "
    "63021 63027 63028 63030 21609 30007 35111 35114 35115 35117 35118 63034 63037 11200 11205",
}


@pytest.mark.parametrize(("disposition", "codes"), TABLE.items())
def test_each_code_has_the_action_of_its_cause(disposition: D, codes: str) -> None:
    for code in map(int, codes.split()):
        assert rule_for(code).disposition is disposition, code
        assert rule_for(code).code == code


def test_the_table_has_no_code_that_this_test_does_not_name() -> None:
    assert set(RULES) == {int(code) for codes in TABLE.values() for code in codes.split()}


def test_temporary_causes_defer_with_a_delay_and_permanent_ones_do_not() -> None:
    for rule in RULES.values():
        assert rule.permanent == (rule.disposition not in {D.DEFER, D.UNKNOWN}), rule.code
        assert (rule.delay is not None) == (rule.disposition is D.DEFER), rule.code
        assert (rule.max_tries is None) == (rule.exhausted is None), rule.code


def test_every_advice_is_a_sentence_without_codes() -> None:
    for rule in RULES.values():
        assert rule.advice.endswith("."), rule.code
        assert not re.search(r"\d{5}", rule.advice), rule.code


def test_G01_a_lapsed_window_is_explained_in_words_though_the_callback_has_none() -> None:
    assert "24 hours" in rule_for(63016).advice
    assert "template" in rule_for(63016).advice


@pytest.mark.parametrize("code", [None, 99999, 12])
def test_an_unknown_code_goes_to_a_person(code: int | None) -> None:
    assert rule_for(code).disposition is D.REVIEW
    assert rule_for(code).advice


def test_the_marketing_limit_waits_a_day_at_least_and_is_never_tried_again_in_north_america() -> None:
    rule = rule_for(63049)
    assert rule.delay is not None
    assert rule.delay >= timedelta(hours=24)
    assert (rule.max_tries, rule.exhausted) == (3, D.SKIP)
    american = Address(Channel.WHATSAPP, AddressKind.PHONE, "+14155550100")
    assert disposition_for(63049, to=american) is D.SKIP
    assert disposition_for(63049, to=Address(Channel.WHATSAPP, AddressKind.PHONE, "+60123456789")) is D.DEFER
