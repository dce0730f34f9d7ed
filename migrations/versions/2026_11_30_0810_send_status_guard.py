"""A send's status never moves back, and a new attempt needs the earlier ones to be certainly without effect."""

from __future__ import annotations

from alembic import op

revision = "20261130_0810"
down_revision = "20261130_0805"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # Not started yet: waiting, queued and superseded may change among each other, for nothing was sent.
    # From `sending` on the rank only rises. A way back to `queued` or `waiting` is a new attempt: it is open only
    # when every attempt so far certainly reached nobody.
    op.execute(
        """
        CREATE FUNCTION guard_send_status() RETURNS trigger LANGUAGE plpgsql AS $$
        DECLARE
            not_started constant text[] := ARRAY['waiting', 'queued', 'superseded'];
            ranks constant jsonb := '{"sending": 1, "unknown": 2, "needs_review": 3, "accepted": 4, "sent": 5,
                                      "delivered": 6, "read": 7}';
            ends constant text[] := ARRAY['failed', 'undelivered'];
        BEGIN
            IF NEW.status = OLD.status THEN
                RETURN NEW;
            END IF;
            -- Late good news: the provider took it after all, whatever had been ruled about it meanwhile.
            IF NEW.status IN ('accepted', 'sent', 'delivered', 'read')
                AND (OLD.status = ANY (not_started) OR OLD.status IN ('failed', 'skipped')) AND EXISTS (
                SELECT 1 FROM send_attempts a WHERE a.send_id = OLD.id AND a.outcome = 'accepted'
            ) THEN
                RETURN NEW;
            END IF;
            IF OLD.status = ANY (not_started) THEN
                IF NEW.status = ANY (not_started) OR NEW.status IN ('sending', 'skipped', 'needs_review') THEN
                    RETURN NEW;
                END IF;
            ELSIF NEW.status = ANY (not_started) OR NEW.status IN ('sending', 'skipped') THEN
                IF OLD.status IN ('sending', 'unknown', 'needs_review', 'failed', 'undelivered') AND NOT EXISTS (
                    SELECT 1 FROM send_attempts a WHERE a.send_id = OLD.id
                    AND (a.outcome IS NULL OR a.outcome NOT IN ('rejected', 'not_sent', 'failed', 'ruled_not_sent'))
                ) AND NEW.status <> 'sending' THEN
                    RETURN NEW;
                END IF;
            ELSIF OLD.status = ANY (ends) THEN
                NULL; -- an end is an end
            ELSIF NEW.status = ANY (ends) THEN
                IF OLD.status NOT IN ('delivered', 'read', 'skipped') THEN
                    RETURN NEW;
                END IF;
            ELSIF (ranks ->> NEW.status)::int > (ranks ->> OLD.status)::int THEN
                RETURN NEW;
            END IF;
            RAISE EXCEPTION 'send % may not go from % to %', OLD.id, OLD.status, NEW.status
                USING ERRCODE = 'restrict_violation';
        END $$
        """
    )
    op.execute(
        "CREATE TRIGGER guard_status BEFORE UPDATE OF status ON sends "
        "FOR EACH ROW WHEN (OLD.status IS DISTINCT FROM NEW.status) EXECUTE FUNCTION guard_send_status()"
    )


def downgrade() -> None:
    op.execute("DROP TRIGGER guard_status ON sends")
    op.execute("DROP FUNCTION guard_send_status()")
