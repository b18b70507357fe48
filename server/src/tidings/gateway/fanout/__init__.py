"""From a bus message to the devices of this process: decrypted once, encoded once, in order."""
