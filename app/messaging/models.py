"""Sends and their attempts, inbound receipts, conversations and bubbles, templates, senders, kill switches.

`sends`, `send_attempts`, `signals` and `messages` carry no foreign keys to hot parents (senders, campaigns,
versions, users): a key check would lock the parent's row for every message.
"""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

from sqlalchemy import (
    ARRAY,
    CheckConstraint,
    Double,
    ForeignKey,
    Identity,
    Index,
    Integer,
    Text,
    UniqueConstraint,
)
from sqlalchemy import text as sql
from sqlalchemy.orm import Mapped, mapped_column

from app.db.base import Base
from app.ledger.models import Xid8

SEND_STATUSES = (
    "waiting",
    "queued",
    "sending",
    "accepted",
    "sent",
    "delivered",
    "read",
    "failed",
    "undelivered",
    "skipped",
    "superseded",
    "unknown",
    "needs_review",
)
ATTEMPT_OUTCOMES = ("accepted", "rejected", "not_sent", "unknown", "failed", "ruled_not_sent")


class Sender(Base):
    """One number or messaging service we send from; the rate is per real second, the cap per day of its zone."""

    __tablename__ = "senders"

    id: Mapped[int] = mapped_column(Identity(), primary_key=True)
    key: Mapped[str] = mapped_column(unique=True)
    channel: Mapped[str]
    provider: Mapped[str]
    address: Mapped[str]  # E.164, without the channel prefix
    messaging_service_sid: Mapped[str | None]
    status: Mapped[str] = mapped_column(server_default=sql("'active'"))  # active, off, credentials
    status_reason: Mapped[str | None]
    rate_per_second: Mapped[float] = mapped_column(Double, server_default=sql("20"))
    daily_cap: Mapped[int] = mapped_column(Integer, server_default=sql("10000"))
    time_zone: Mapped[str] = mapped_column(server_default=sql("'Asia/Kuala_Lumpur'"))
    next_free_at: Mapped[datetime] = mapped_column(server_default=sql("clock_timestamp()"))  # real time


class SenderDay(Base):
    """How many sends of a sender were reserved for one day of its zone (business time)."""

    __tablename__ = "sender_days"

    sender_id: Mapped[int] = mapped_column(ForeignKey("senders.id"), primary_key=True)
    day: Mapped[date] = mapped_column(primary_key=True)
    reserved: Mapped[int] = mapped_column(Integer, server_default=sql("0"))


class Template(Base):
    """One approved (or not) text in one language. `key` is the same in all languages."""

    __tablename__ = "templates"
    __table_args__ = (UniqueConstraint("key", "channel", "language"),)

    id: Mapped[int] = mapped_column(Identity(), primary_key=True)
    key: Mapped[str]
    channel: Mapped[str]
    language: Mapped[str]
    name: Mapped[str]
    moment: Mapped[str]
    category: Mapped[str] = mapped_column(server_default=sql("'MARKETING'"))
    body: Mapped[str]
    variables: Mapped[list[Any]] = mapped_column(
        server_default=sql("'[]'")
    )  # [{name, source, fallback, sample}]
    buttons: Mapped[list[Any]] = mapped_column(server_default=sql("'[]'"))  # [{kind, title, payload}]
    content_sid: Mapped[str | None]
    approval: Mapped[str] = mapped_column(server_default=sql("'unsubmitted'"))
    approval_at: Mapped[datetime | None]
    rejection_reason: Mapped[str | None]


class KillSwitch(Base):
    """A stop that stands until it is released; scope `global`, `channel:whatsapp`, `campaign:7`, `sender:1`."""

    __tablename__ = "kill_switches"

    scope: Mapped[str] = mapped_column(primary_key=True)
    reason: Mapped[str]
    set_by: Mapped[str]
    set_at: Mapped[datetime]


class Send(Base):
    """One outbound message and its outbox row, unique on a key that can be rebuilt."""

    __tablename__ = "sends"
    __table_args__ = (
        CheckConstraint(f"status IN {SEND_STATUSES}", name="status"),
        CheckConstraint("kind IN ('campaign','adviser','system')", name="kind"),
        Index("ix_sends_queued", "not_before", "id", postgresql_where=sql("status = 'queued'")),
        Index(
            "ix_sends_open", "enrolment_id", postgresql_where=sql("status IN ('waiting','queued','sending')")
        ),
        Index("ix_sends_enrolment_id", "enrolment_id"),
        Index("ix_sends_contact_id", "contact_id"),
        Index(
            "ix_sends_unresolved",
            "status_at",
            postgresql_where=sql("status IN ('sending','unknown','needs_review')"),
        ),
    )

    id: Mapped[int] = mapped_column(Identity(), primary_key=True)
    idempotency_key: Mapped[str] = mapped_column(unique=True)
    kind: Mapped[str]
    contact_id: Mapped[int]
    enrolment_id: Mapped[int | None]
    campaign_id: Mapped[int | None]
    version_id: Mapped[int | None]
    generation: Mapped[int | None]
    path: Mapped[str | None]
    step: Mapped[str | None]
    lap: Mapped[int | None]
    channel: Mapped[str]
    sender_id: Mapped[int | None]
    template_key: Mapped[str | None]
    content: Mapped[dict[str, Any]] = mapped_column(
        server_default=sql("'{}'")
    )  # what was rendered at the start
    status: Mapped[str]
    status_at: Mapped[datetime]
    reason: Mapped[str | None]  # why skipped, superseded, failed or under review
    not_before: Mapped[datetime] = mapped_column(server_default=sql("clock_timestamp()"))  # real time
    attempts: Mapped[int] = mapped_column(Integer, server_default=sql("0"))
    tried: Mapped[list[str]] = mapped_column(
        ARRAY(Text), server_default=sql("'{}'")
    )  # channels that did not work for it
    verdict: Mapped[dict[str, Any] | None]  # the last gate verdict: why sent, skipped, deferred, until when
    author_id: Mapped[int | None]
    conversation_version: Mapped[int | None]
    created_at: Mapped[datetime]
    accepted_at: Mapped[datetime | None]


class SendAttempt(Base):
    """One try at the provider. The id travels in the callback's address. Times here are real time."""

    __tablename__ = "send_attempts"
    __table_args__ = (
        UniqueConstraint("send_id", "n"),
        UniqueConstraint("provider", "provider_message_id"),
        CheckConstraint(f"outcome IN {ATTEMPT_OUTCOMES}", name="outcome"),
        Index("ix_send_attempts_open", "lease_expires_at", postgresql_where=sql("outcome IS NULL")),
        Index("ix_send_attempts_address", "address"),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    send_id: Mapped[int]
    n: Mapped[int] = mapped_column(Integer)
    lease_token: Mapped[str] = mapped_column(unique=True)
    lease_expires_at: Mapped[datetime]
    channel: Mapped[str]
    sender_id: Mapped[int]
    address: Mapped[str]  # the recipient as the provider knows it, e.g. whatsapp:+60120000001
    started_at: Mapped[datetime] = mapped_column(server_default=sql("clock_timestamp()"))
    provider: Mapped[str]
    provider_message_id: Mapped[str | None]
    outcome: Mapped[str | None]
    error_code: Mapped[str | None]
    error_text: Mapped[str | None]
    finished_at: Mapped[datetime | None]
    looks: Mapped[int] = mapped_column(Integer, server_default=sql("0"))
    looked_at: Mapped[datetime | None]


class Signal(Base):
    """A fact from outside, stored once as it came. `received_at` is real, `at` is business time."""

    __tablename__ = "signals"
    __table_args__ = (
        UniqueConstraint("source", "external_id"),
        Index("ix_signals_unprocessed", "id", postgresql_where=sql("processed_at IS NULL")),
        Index("ix_signals_unprocessed_address", "address", postgresql_where=sql("processed_at IS NULL")),
        Index("ix_signals_contact_id", "contact_id", "id"),
    )

    id: Mapped[int] = mapped_column(Identity(), primary_key=True)
    source: Mapped[str]  # twilio.inbound, twilio.status, …
    external_id: Mapped[str]
    kind: Mapped[str]  # inbound, status, unreadable
    address: Mapped[str | None]
    attempt_id: Mapped[str | None]
    provider_message_id: Mapped[str | None]
    payload: Mapped[dict[str, Any]]
    at: Mapped[datetime]
    received_at: Mapped[datetime] = mapped_column(server_default=sql("clock_timestamp()"))
    contact_id: Mapped[int | None]
    enrolment_id: Mapped[int | None]
    human: Mapped[bool] = mapped_column(server_default=sql("false"))
    was_active: Mapped[bool | None]
    outcome: Mapped[str | None]  # what it did, in a word; `ignored:<why>` where nothing
    processed_at: Mapped[datetime | None]
    processed_xid: Mapped[int | None] = mapped_column(Xid8())
    tries: Mapped[int] = mapped_column(Integer, server_default=sql("0"))
    not_before: Mapped[datetime] = mapped_column(server_default=sql("clock_timestamp()"))
    problem: Mapped[str | None]


class Conversation(Base):
    """The thread of one contact over all channels; `version` counts its messages and guards stale answers."""

    __tablename__ = "conversations"
    __table_args__ = (Index("ix_conversations_last_message_at", "last_message_at", "id"),)

    id: Mapped[int] = mapped_column(Identity(), primary_key=True)
    contact_id: Mapped[int] = mapped_column(ForeignKey("contacts.id"), unique=True)
    version: Mapped[int] = mapped_column(server_default=sql("0"))
    unread: Mapped[int] = mapped_column(Integer, server_default=sql("0"))
    last_message_at: Mapped[datetime | None]
    last_direction: Mapped[str | None]
    last_text: Mapped[str | None]
    last_kind: Mapped[str | None]
    last_inbound_at: Mapped[datetime | None]
    whatsapp_inbound_at: Mapped[datetime | None]  # opens the 24-hour window
    whatsapp_sender_id: Mapped[int | None]  # the sender this person last wrote to
    created_at: Mapped[datetime]


class Message(Base):
    """One bubble of a contact's thread. An outbound one points at its send and reads its state there."""

    __tablename__ = "messages"
    __table_args__ = (Index("ix_messages_contact_id_at", "contact_id", "at", "id"),)

    id: Mapped[int] = mapped_column(Identity(), primary_key=True)
    contact_id: Mapped[int]
    direction: Mapped[str]  # in, out
    channel: Mapped[str]
    kind: Mapped[str]
    text: Mapped[str | None]
    media: Mapped[list[Any]] = mapped_column(server_default=sql("'[]'"))
    extra: Mapped[dict[str, Any]] = mapped_column(
        server_default=sql("'{}'")
    )  # location, button payload, forwarded …
    send_id: Mapped[int | None] = mapped_column(unique=True)
    signal_id: Mapped[int | None] = mapped_column(unique=True)
    replied_to: Mapped[str | None]
    at: Mapped[datetime]
