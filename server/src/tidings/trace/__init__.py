"""Where a message is: reads rows, checkpoints, routes, queues and the topic, and explains them. Writes nothing."""
