"""Who may come in: tenants' own tokens, phone codes, sessions of devices, API keys of servers."""
