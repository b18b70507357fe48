"""The steps after a commit: chat rows, fan-out, the offline queue; watermarks, chat lists, delivery status."""
