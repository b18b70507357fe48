"""Push notifications: registered devices, the decision whether to notify, providers, and results."""
