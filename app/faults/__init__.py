"""Named crash points: no-ops unless a test or an explorer switches one on."""
