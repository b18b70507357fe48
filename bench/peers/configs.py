"""Settings of other servers: durable, with their archive, and without rate limits that would distort the results."""

from pathlib import Path

_FOLDER = Path(__file__).parent

EJABBERD = (_FOLDER / "ejabberd.yml.template").read_text()
SYNAPSE = (_FOLDER / "synapse.yaml.template").read_text()
SYNAPSE_LOG = (_FOLDER / "synapse_log.yaml.template").read_text()
