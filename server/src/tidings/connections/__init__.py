"""Where a device is connected right now, how a push gets there, and how far a chat has been handled. All in Redis."""
