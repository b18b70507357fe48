"""Where a message is: what rows, marks, routes, queues and the topic know of it, and what that means. Writes nothing."""
