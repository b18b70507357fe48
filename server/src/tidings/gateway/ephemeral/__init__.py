"""Signs at a gateway: channels that somebody here looks at, and the frames that come of what is said there."""
