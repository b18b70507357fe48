"""The OpenTofu module of the tables: its generated part, and the check of its names."""
