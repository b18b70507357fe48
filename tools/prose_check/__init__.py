"""Check that prose in code and documentation is plain technical English.

The rules are data (`rules.toml`). The contributor guide, `docs/contributing/style.md`, explains them.
"""
