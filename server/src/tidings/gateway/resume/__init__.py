"""How a device gets what it missed: after it connected, and again whenever pushes may have been lost."""
