"""Drills: rehearse a restore and a failover on copies of the tables, without touching production."""
