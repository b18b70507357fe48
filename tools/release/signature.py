"""The signature of the checksums, made with a key of SSH, so that every system has the program that verifies it."""

import os
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from tools.release.command import run
from tools.release.provenance import CHECKSUMS

KEY: Final = "TIDINGS_RELEASE_KEY"
"""Environment variable with the private key, as `ssh-keygen -t ed25519` writes it."""
SIGNATURE: Final = f"{CHECKSUMS}.sig"
IDENTITY: Final = "release@tidings"
NAMESPACE: Final = "tidings-release"
"""Keeps a signature of the key for something else, such as a commit, from being valid here."""


def sign(dist: Path) -> bool:
    """Sign the checksums with the key of the environment. Return False if there is none."""
    key = os.environ.get(KEY)
    if not key:
        return False
    with tempfile.TemporaryDirectory() as folder:
        private = Path(folder, "key")
        private.touch(mode=0o600)
        private.write_text(key.strip() + "\n")
        (dist / SIGNATURE).unlink(missing_ok=True)
        run("ssh-keygen", "-Y", "sign", "-q", "-f", str(private), "-n", NAMESPACE, CHECKSUMS, cwd=dist)
    return True


def signature_faults(dist: Path, signers: Path) -> list[str]:
    """Verify the signature with the public key of the file of allowed signers."""
    words = ["ssh-keygen", "-Y", "verify", "-f", str(signers.absolute()), "-I", IDENTITY, "-n", NAMESPACE]
    with (dist / CHECKSUMS).open("rb") as checksums:
        done = subprocess.run(
            [*words, "-s", SIGNATURE], cwd=dist, stdin=checksums, capture_output=True, text=True, check=False
        )
    return [f"{SIGNATURE}: {(done.stderr or done.stdout).strip()}"] if done.returncode else []
