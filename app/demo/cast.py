"""The demo's leads and what has happened to them before Monday 09:00. All of them are invented."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal

OPENS_AT = datetime(2026, 11, 30, 1, 0, tzinfo=UTC)  # Monday 09:00 in Kuala Lumpur


def ago(*, days: int = 0, hours: int = 0, minutes: int = 0) -> datetime:
    """Return a moment before the demo opens."""
    return OPENS_AT - timedelta(days=days, hours=hours, minutes=minutes)


SATURDAY_LATE = OPENS_AT - timedelta(days=1, hours=15)  # Saturday 18:00, when the working week ends


@dataclass(frozen=True, slots=True)
class Said:
    """One thing that happened: the lead writes, an adviser answers, an outcome is logged, a visit is booked."""

    at: datetime
    kind: Literal["lead", "adviser", "outcome", "visit"]
    text: str


@dataclass(frozen=True, slots=True)
class DemoLead:
    """One lead: who they are, when they asked, what was said since."""

    name: str
    phone: str
    language: str
    area: str
    children: str
    source: str
    enrolled_at: datetime
    said: tuple[Said, ...] = ()


def lead_says(at: datetime, text: str) -> Said:
    """The lead writes."""
    return Said(at, "lead", text)


def adviser_says(at: datetime, text: str) -> Said:
    """The owner answers."""
    return Said(at, "adviser", text)


_THURSDAY = ago(days=3, hours=23)  # 10:00
_WEDNESDAY = ago(days=4, hours=22, minutes=30)

LEADS: tuple[DemoLead, ...] = (
    # Overdue: they wrote before the week ended, and nobody answered.
    DemoLead(
        "Puan Aisyah Rahman",
        "+60120004821",
        "ms",
        "Shah Alam",
        "2 children, 6 and 9",
        "open_day_form",
        _THURSDAY,
        (
            lead_says(
                SATURDAY_LATE - timedelta(minutes=40),
                "Boleh saya tahu yuran untuk dua anak? Ada diskaun adik-beradik?",
            ),
        ),
    ),
    DemoLead(
        "Encik Hafiz Zulkifli",
        "+60130002277",
        "ms",
        "Klang",
        "1 child, 7",
        "walk_in",
        _THURSDAY,
        (
            lead_says(
                SATURDAY_LATE - timedelta(minutes=29),
                "I would like to speak with somebody about the reading level.",
            ),
        ),
    ),
    # Due soon: the working clock stood still over Sunday.
    DemoLead(
        "Mdm Tan Siew Ling",
        "+60160009037",
        "zh",
        "Subang Jaya",
        "1 child, 5",
        "school_fair",
        _WEDNESDAY,
        (
            lead_says(SATURDAY_LATE - timedelta(minutes=12), "Good evening"),
            lead_says(
                SATURDAY_LATE - timedelta(minutes=11),
                "Is the Saturday 10 am trial still open? My sister wants to join too, her son is 6 😊",
            ),
        ),
    ),
    DemoLead(
        "Puan Noraini Daud",
        "+60170003416",
        "ms",
        "Setia Alam",
        "3 children, 4 to 10",
        "facebook_form",
        _THURSDAY,
        (lead_says(SATURDAY_LATE - timedelta(minutes=11), "Saya nampak iklan di Facebook. Kelas hari apa?"),),
    ),
    DemoLead(
        "Ms Grace Wong",
        "+60120006120",
        "en",
        "USJ",
        "1 child, 6",
        "referral",
        _WEDNESDAY,
        (
            lead_says(
                SATURDAY_LATE - timedelta(minutes=10, seconds=20), "Thanks! Can we pay in two instalments?"
            ),
        ),
    ),
    # Waiting: answered, the ball is with the family.
    DemoLead(
        "Mdm Lim Hui Min",
        "+60190007755",
        "zh",
        "Subang Jaya",
        "1 child, 6",
        "referral",
        ago(days=5, hours=22),
        (
            lead_says(ago(days=3, hours=22), "Do you have a class on Sundays?"),
            adviser_says(
                ago(days=3, hours=21, minutes=52),
                "We do not teach on Sundays, but Saturday 14:00 has two places left. Shall I hold one?",
            ),
            lead_says(
                ago(days=3, hours=21, minutes=30), "I will check with my husband and write back tonight"
            ),
            adviser_says(
                ago(days=3, hours=21, minutes=20), "Of course, take your time. I will hold it until Tuesday."
            ),
        ),
    ),
    DemoLead(
        "Puan Suhaila Idris",
        "+60130008804",
        "ms",
        "Klang",
        "1 child, 9",
        "open_day_form",
        ago(days=6, hours=22),
        (
            lead_says(ago(days=4, hours=20), "Boleh hantar jadual dan yuran?"),
            adviser_says(
                ago(days=4, hours=19, minutes=50), "Ini jadual yang puan minta: Selasa dan Jumaat, 3 petang."
            ),
        ),
    ),
    DemoLead(
        "Mr Anand Pillai",
        "+60120005512",
        "en",
        "Puchong",
        "2 children, 5 and 8",
        "walk_in",
        ago(days=5, hours=21),
        (
            lead_says(ago(days=3, hours=19), "Is there parking near the centre?"),
            adviser_says(
                ago(days=3, hours=18, minutes=55),
                "Yes, behind the building, entrance B. It is free for visitors.",
            ),
        ),
    ),
    DemoLead(
        "Encik Faizal Osman",
        "+60170001199",
        "ms",
        "Shah Alam",
        "2 children, 7 and 11",
        "facebook_form",
        ago(days=6, hours=21),
        (
            lead_says(ago(days=2, hours=22), "Anak saya suka matematik, ada kelas khas?"),
            adviser_says(
                ago(days=2, hours=21, minutes=50),
                "Ada, kumpulan matematik setiap hari Rabu. Mahu cuba satu kelas?",
            ),
        ),
    ),
    DemoLead(
        "Ms Kavitha Nair",
        "+60160004410",
        "en",
        "Petaling Jaya",
        "1 child, 4",
        "school_fair",
        ago(days=4, hours=21),
        (
            lead_says(ago(days=2, hours=20), "What is the youngest age you take?"),
            adviser_says(
                ago(days=2, hours=19, minutes=55), "Four is our youngest group. They meet on Thursdays at 10."
            ),
        ),
    ),
    # Visits: booked for today and the days after.
    DemoLead(
        "Mr Kumar Selvam",
        "+60120003381",
        "en",
        "Petaling Jaya",
        "twins, 8",
        "referral",
        ago(days=8, hours=22),
        (Said(ago(days=2, hours=18), "visit", "2026-11-30T15:00:00+08:00"),),
    ),
    DemoLead(
        "Puan Azlina Hamid",
        "+60130006642",
        "ms",
        "Setia Alam",
        "1 child, 7",
        "open_day_form",
        ago(days=7, hours=22),
        (Said(ago(days=1, hours=20), "visit", "2026-11-30T16:30:00+08:00"),),
    ),
    DemoLead(
        "Mdm Chong Mei Yee",
        "+60190002290",
        "zh",
        "USJ",
        "2 children, 6 and 8",
        "walk_in",
        ago(days=7, hours=20),
        (Said(ago(days=2, hours=17), "visit", "2026-11-30T11:30:00+08:00"),),
    ),
    DemoLead(
        "Mr Dinesh Raj",
        "+60170007003",
        "en",
        "Klang",
        "1 child, 10",
        "facebook_form",
        ago(days=6, hours=20),
        (Said(ago(days=2, hours=16), "visit", "2026-11-30T17:00:00+08:00"),),
    ),
    # On their way: the machine writes to them.
    DemoLead(
        "Puan Rohana Yusof",
        "+60120007718",
        "ms",
        "Shah Alam",
        "1 child, 5",
        "open_day_form",
        ago(days=3, hours=22),
    ),
    DemoLead(
        "Ms Chloe Tan",
        "+60160001250",
        "en",
        "Subang Jaya",
        "1 child, 6",
        "referral",
        ago(days=1, hours=22, minutes=30),
    ),
    DemoLead(
        "Encik Azman Salleh", "+60130009911", "ms", "Klang", "3 children", "walk_in", ago(days=5, hours=23)
    ),
    DemoLead(
        "Mr Wong Kah Fai",
        "+60190004477",
        "zh",
        "Puchong",
        "1 child, 9",
        "facebook_form",
        ago(days=1, hours=23),
    ),
    DemoLead(
        "Mdm Priya Menon", "+60170005566", "en", "USJ", "2 children", "school_fair", ago(days=7, hours=23)
    ),
    DemoLead(
        "Puan Zaleha Omar",
        "+60120008833",
        "ms",
        "Setia Alam",
        "1 child, 8",
        "open_day_form",
        ago(days=3, hours=21),
    ),
    # Over: each in its own way.
    DemoLead(
        "Mr Steven Lee",
        "+60160006789",
        "en",
        "Petaling Jaya",
        "1 child, 7",
        "walk_in",
        ago(days=9, hours=22),
        (
            lead_says(ago(days=6, hours=22), "We would like to sign up from January."),
            adviser_says(ago(days=6, hours=21, minutes=54), "Wonderful! I have sent you the form."),
            Said(ago(days=5, hours=20), "outcome", "won"),
        ),
    ),
    DemoLead(
        "Puan Haslinda Musa",
        "+60130001357",
        "ms",
        "Shah Alam",
        "2 children",
        "facebook_form",
        ago(days=9, hours=21),
        (
            lead_says(ago(days=6, hours=20), "Terlalu jauh dari rumah kami, maaf."),
            adviser_says(
                ago(days=6, hours=19, minutes=50), "Tidak mengapa, terima kasih kerana memberitahu."
            ),
            Said(ago(days=6, hours=19), "outcome", "lost"),
        ),
    ),
    DemoLead(
        "Ms Farah Nabila",
        "+60190008642",
        "en",
        "Klang",
        "1 child, 3",
        "school_fair",
        ago(days=8, hours=21),
        (
            lead_says(ago(days=5, hours=22), "She is still a bit young. Ask us again in March?"),
            adviser_says(ago(days=5, hours=21, minutes=56), "Gladly. I will write in March."),
            Said(ago(days=5, hours=21, minutes=50), "outcome", "not_now"),
        ),
    ),
    DemoLead(
        "Mr Goh Wei Jie",
        "+60170009090",
        "en",
        "Puchong",
        "1 child, 6",
        "facebook_form",
        ago(days=8, hours=20),
        (lead_says(ago(days=6, hours=18), "STOP"),),
    ),
    DemoLead(
        "Encik Rashid Karim", "+60120001911", "ms", "USJ", "1 child, 11", "walk_in", ago(days=12, hours=22)
    ),
)
