"""Signs of life: how far members got, who types, who is there. Told to whoever looks; never stored, any may be lost."""
