"""The frames, by what they are for. `table` lists them all.

From the device to the server the frames are strict: a field that the server does not know is refused, so that a typing
error in `ttl_seconds` is not a message that stays for ever. From the server to the device they may grow: a client
ignores fields and pushes that it does not know.
"""
