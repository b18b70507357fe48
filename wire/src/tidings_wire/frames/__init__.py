"""The frames, by subject. `registry` lists all of them.

Requests are strict: the server refuses unknown fields. Otherwise a misspelled `ttl_seconds` would create a message that
never expires. Answers and pushes may grow: a client ignores fields and pushes that it does not know.
"""
