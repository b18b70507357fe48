"""What happened, as the devices saw it: written so that it survives, read as columns."""
