"""The OpenTofu module of the bucket: its format, and the rights that the processes need and no more."""

import re
import shutil
import subprocess

import pytest

from infra.generated import INFRA

MODULE = INFRA / "tofu" / "media"
TOOL = shutil.which("tofu") or shutil.which("terraform")


def text() -> str:
    return "\n".join(path.read_text() for path in sorted(MODULE.glob("*.tf")))


@pytest.mark.skipif(TOOL is None, reason="neither tofu nor terraform is installed")
def test_the_files_are_valid_and_formatted() -> None:
    assert TOOL is not None
    done = subprocess.run(
        [TOOL, "fmt", "-check", "-diff", str(MODULE)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_bucket_is_private_encrypted_and_has_no_versions() -> None:
    found = text()
    for line in ("block_public_acls", "block_public_policy", "ignore_public_acls", "restrict_public_buckets"):
        assert re.search(rf"{line}\s+= true", found), line
    assert 'sse_algorithm     = "aws:kms"' in found
    assert "aws:SecureTransport" in found
    # A deleted file would remain as a version.
    assert "aws_s3_bucket_versioning" not in found


def test_processes_have_the_rights_that_they_use_and_no_others() -> None:
    rights = {
        process: set(re.findall(r'"(s3:\w+)"', block))
        for process, block in re.findall(r"(\w+) = \{\s+bucket  =(.*?)\n    \}", text(), re.DOTALL)
    }
    read_write = {"s3:ListBucket", "s3:GetObject", "s3:PutObject", "s3:AbortMultipartUpload"}
    assert rights == {
        "api": read_write | {"s3:ListMultipartUploadParts"},
        "media": read_write | {"s3:DeleteObject", "s3:ListBucketMultipartUploads"},
    }


def test_no_lifecycle_rule_deletes_objects() -> None:
    assert "abort_incomplete_multipart_upload" in text()
    assert not re.search(
        r"^\s*(expiration|transition|noncurrent_version_expiration) \{", text(), re.MULTILINE
    )
