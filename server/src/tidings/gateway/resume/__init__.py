"""Send a device what it missed, after it connects and whenever pushes may have been lost."""
