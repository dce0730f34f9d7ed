"""The demo organisation: one family programme, one campaign of six steps over ten days, its templates, its people."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from app.campaigns.domain.compiling import compile_definition
from app.db.session import UnitOfWork
from app.kernel.roles import Role

CAMPAIGN = "enquiry_to_visit"
SENDER = "+60320000100"
SERVICE = "MG5e1f0d3c2b4a69788796a5b4c3d2e1f0"

DEFINITION: dict[str, Any] = {
    "paths": {
        "nurture": [
            {"key": "hello", "kind": "message", "template": "hello_family"},
            {"key": "after_hello", "kind": "wait", "days": 2},
            {"key": "what_children_do", "kind": "message", "template": "what_children_do"},
            {"key": "after_story", "kind": "wait", "days": 2},
            {"key": "visit_invitation", "kind": "message", "template": "visit_invitation"},
            {"key": "after_invitation", "kind": "wait", "days": 2},
            {"key": "fees", "kind": "message", "template": "fees_in_short", "optional": True},
            {"key": "after_fees", "kind": "wait", "days": 2},
            {"key": "places_left", "kind": "message", "template": "places_left", "optional": True},
            {"key": "after_places", "kind": "wait", "days": 2},
            {"key": "goodbye", "kind": "message", "template": "goodbye_for_now"},
            {"key": "end", "kind": "end", "reason": "exhausted"},
        ]
    }
}


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody to come in as."""

    email: str
    name: str
    role: Role
    capacity: int = 0
    languages: tuple[str, ...] = ()


PEOPLE = (
    Person("nadia@demo.example", "Nadia Rashid", Role.ADVISER, 40, ("ms", "en")),
    Person("farid@demo.example", "Farid Osman", Role.ADVISER, 40, ("ms", "en")),
    Person("meichen@demo.example", "Tan Mei Chen", Role.ADVISER, 40, ("zh", "en")),
    Person("suraya@demo.example", "Suraya Daud", Role.MANAGER),
    Person("daniel@demo.example", "Daniel Lim", Role.MARKETER),
)


@dataclass(frozen=True, slots=True)
class DemoTemplate:
    """One template with its texts by language."""

    key: str
    name: str
    moment: str
    texts: dict[str, str]
    buttons: tuple[str, ...] = ()
    category: str = "MARKETING"


FIRST_NAME = {"name": "1", "source": "lead.first_name", "fallback": "there", "sample": "Aisyah"}

TEMPLATES = (
    DemoTemplate(
        "hello_family",
        "Hello to a new family",
        "first_touch",
        {
            "en": "Hi {{1}}, thank you for asking about our family programme. We would love to show you around. "
            "Would a weekday or a weekend suit you better?",
            "ms": "Hai {{1}}, terima kasih kerana bertanya tentang program keluarga kami. Kami ingin menunjukkan pusat "
            "kami kepada anda. Hari biasa atau hujung minggu lebih sesuai?",
            "zh": "您好 {{1}}，感谢您咨询我们的家庭课程。我们很乐意带您参观。平日还是周末比较方便？",
        },
        ("Weekday", "Weekend"),
    ),
    DemoTemplate(
        "what_children_do",
        "What children do here",
        "nudge",
        {
            "en": "Hi {{1}}, a short look into our week: on Tuesdays the children build bridges from paper, on Fridays "
            "they read to each other. What does your child like best?",
            "ms": "Hai {{1}}, sedikit tentang minggu kami: pada hari Selasa anak-anak membina jambatan kertas, pada "
            "hari Jumaat mereka membaca bersama. Apa yang anak anda paling suka?",
        },
    ),
    DemoTemplate(
        "visit_invitation",
        "Invitation to visit",
        "nudge",
        {
            "en": "Hi {{1}}, our centre is open for visits this Saturday at 10:00 and 11:30. Shall we keep a place "
            "for your family?",
            "ms": "Hai {{1}}, pusat kami dibuka untuk lawatan Sabtu ini pukul 10:00 dan 11:30. Boleh kami simpan "
            "tempat untuk keluarga anda?",
            "zh": "您好 {{1}}，本中心这个星期六 10:00 和 11:30 开放参观。要为您的家庭保留位子吗？",
        },
        ("Yes, please", "Another day"),
    ),
    DemoTemplate(
        "fees_in_short",
        "Fees in short",
        "nudge",
        {
            "en": "Hi {{1}}, many families ask about fees: one child is RM 380 a month, and brothers and sisters get "
            "10% off. The first class is a free trial.",
        },
    ),
    DemoTemplate(
        "places_left",
        "Places left",
        "nudge",
        {
            "en": "Hi {{1}}, there are still places in the January groups. Would you like us to hold one for a week?"
        },
    ),
    DemoTemplate(
        "goodbye_for_now",
        "Goodbye for now",
        "nudge",
        {
            "en": "Hi {{1}}, we do not want to fill your phone, so this is our last note for now. Write to us "
            "whenever you like, we are happy to hear from you.",
            "ms": "Hai {{1}}, kami tidak mahu mengganggu, jadi ini nota terakhir kami buat masa ini. Tulislah kepada "
            "kami bila-bila masa, kami gembira mendengar daripada anda.",
        },
    ),
    DemoTemplate(
        "back_in_touch",
        "Back in touch",
        "reply",
        {
            "en": "Hello {{1}}, this is the family programme team. You asked us something a while ago. Is it still "
            "of interest to you?",
            "ms": "Helo {{1}}, ini pasukan program keluarga. Anda pernah bertanya kepada kami. Adakah anda masih "
            "berminat?",
            "zh": "您好 {{1}}，这里是家庭课程团队。您之前向我们询问过，请问您还有兴趣吗？",
        },
        category="UTILITY",
    ),
    DemoTemplate(
        "visit_directions",
        "Directions for a visit",
        "confirmation",
        {
            "en": "Hello {{1}}, we look forward to your visit. Parking is behind the centre, entrance B. Please bring "
            "a water bottle for your child.",
        },
        category="UTILITY",
    ),
    DemoTemplate(
        "apology",
        "Apology",
        "apology",
        {
            "en": "Hello {{1}}, we are sorry: you got the same message from us twice. It was our mistake, and it "
            "will not happen again.",
        },
        category="UTILITY",
    ),
)


def content_sid(key: str, language: str) -> str:
    """Return the made-up content id of a demo template: HX and 32 hexadecimal digits, the same at every start."""
    return "HX" + hashlib.sha256(f"{key}:{language}".encode()).hexdigest()[:32]


async def plant_organisation(uow: UnitOfWork, *, now: datetime) -> None:
    """Write programme, campaign, version, templates and sender."""
    await uow.execute("INSERT INTO programs (key, name) VALUES ('family', 'Family programme')")
    await uow.execute(
        "INSERT INTO senders (key, channel, provider, address, messaging_service_sid) "
        "VALUES ('whatsapp_main', 'whatsapp', 'twilio', :address, :service)",
        {"address": SENDER, "service": SERVICE},
    )
    campaign = (
        await uow.execute(
            "INSERT INTO campaigns (program_id, key, name) SELECT id, :key, 'Enquiry to visit' FROM programs "
            "RETURNING id",
            {"key": CAMPAIGN},
        )
    ).one()
    compiled = compile_definition(DEFINITION, version_id=0, campaign_id=campaign.id, number=1)
    version = (
        await uow.execute(
            "INSERT INTO campaign_versions (campaign_id, number, definition, structure_hash, published_at) "
            "VALUES (:id, 1, CAST(:definition AS jsonb), :hash, :now) RETURNING id",
            {
                "id": campaign.id,
                "definition": json.dumps(DEFINITION),
                "hash": compiled.structure_hash,
                "now": now,
            },
        )
    ).one()
    await uow.execute(
        "UPDATE campaigns SET current_version_id = :version WHERE id = :id",
        {"version": version.id, "id": campaign.id},
    )
    for template in TEMPLATES:
        await _plant_template(uow, template, now)


async def _plant_template(uow: UnitOfWork, template: DemoTemplate, now: datetime) -> None:
    for language, body in template.texts.items():
        await uow.execute(
            "INSERT INTO templates (key, channel, language, name, moment, category, body, variables, buttons, "
            "content_sid, approval, approval_at) VALUES (:key, 'whatsapp', :language, :name, :moment, :category, "
            ":body, CAST(:variables AS jsonb), CAST(:buttons AS jsonb), :sid, 'approved', :now)",
            {
                "key": template.key,
                "language": language,
                "name": template.name,
                "moment": template.moment,
                "category": template.category,
                "body": body,
                "variables": json.dumps([FIRST_NAME]),
                "buttons": json.dumps(
                    [{"kind": "quick_reply", "title": b, "payload": b.lower()} for b in template.buttons]
                ),
                "sid": content_sid(template.key, language),
                "now": now,
            },
        )
