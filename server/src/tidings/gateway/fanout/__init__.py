"""From a word over the line to the devices that are here: opened once, encoded once, in order."""
