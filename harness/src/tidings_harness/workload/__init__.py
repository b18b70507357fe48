"""The users of a run, their devices and their actions."""
