"""What follows a commit: chat-list rows, watermarks, the chat list, ticks. Pushing to devices comes later."""
