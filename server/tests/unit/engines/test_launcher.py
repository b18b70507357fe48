"""The compiled launcher of DynamoDB Local belongs to the source next to it."""

import hashlib
from pathlib import Path

from tidings.engines import dynamodb_local

FOLDER = Path(dynamodb_local.__file__).parent / "loopback"
COMPILED = {
    "LoopbackDynamo.java": "651cae4296c156b7fd01e9ff9aa689b7909a17ac07d3e45d7bd93adfd669af4f",
    "LoopbackDynamo.class": "0dd88402669e4f391752e6ba8f625e54d4ed02d9814964d74782e45c8358463b",
}
"""SHA-256 of the source, and of the class that javac made of it. The Java runtime of the tests has no compiler."""


def test_the_class_was_compiled_from_the_current_source() -> None:
    found = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in FOLDER.glob("Loopback*")}
    assert found == COMPILED, "compile the source as its comment says, then write both sums here"
