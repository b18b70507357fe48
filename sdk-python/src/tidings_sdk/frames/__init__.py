"""The frames as this client knows them, by what they are for; `table` lists them all.

Written by hand with the server's names. Tests hold them against `protocol/`, so that neither side drifts. Lists of words
(kinds, states) are plain strings here: the server grows, and a client ignores what it does not know.
"""
