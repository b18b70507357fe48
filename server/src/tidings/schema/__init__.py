"""The tables and topics of an installation: declaration, plan, apply and check."""
