"""The ledger's partitions, and the database's refusal to change what was written."""

from __future__ import annotations

from alembic import op

revision = "20261130_0805"
down_revision = "20261130_0800"
branch_labels = None
depends_on = None

PARTITIONS = 8


def upgrade() -> None:
    for remainder in range(PARTITIONS):
        op.execute(
            f"CREATE TABLE ledger_p{remainder} PARTITION OF ledger "
            f"FOR VALUES WITH (MODULUS {PARTITIONS}, REMAINDER {remainder})"
        )
    op.execute(
        """
        CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            RAISE EXCEPTION '% is append-only: % refused', TG_TABLE_NAME, TG_OP
                USING ERRCODE = 'restrict_violation';
        END $$
        """
    )
    # A row trigger on the parent is copied to every partition; a TRUNCATE trigger is not, so each gets its own.
    op.execute(
        "CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON ledger FOR EACH ROW EXECUTE FUNCTION refuse_change()"
    )
    for table in ["ledger", *(f"ledger_p{remainder}" for remainder in range(PARTITIONS))]:
        op.execute(
            f"CREATE TRIGGER never_truncate BEFORE TRUNCATE ON {table} "
            "FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()"
        )
    op.execute(
        "CREATE TRIGGER immutable BEFORE UPDATE OR DELETE ON campaign_versions "
        "FOR EACH ROW EXECUTE FUNCTION refuse_change()"
    )
    op.execute(
        "CREATE TRIGGER never_truncate BEFORE TRUNCATE ON campaign_versions "
        "FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()"
    )


def downgrade() -> None:
    op.execute("DROP TRIGGER never_truncate ON campaign_versions")
    op.execute("DROP TRIGGER immutable ON campaign_versions")
    op.execute("DROP TRIGGER never_truncate ON ledger")
    op.execute("DROP TRIGGER append_only ON ledger")
    for remainder in range(PARTITIONS):
        op.execute(f"DROP TABLE ledger_p{remainder}")
    op.execute("DROP FUNCTION refuse_change()")
