"""Make the steps of exports, retention sweeps and deletions of tenants short, so that little data has many of them."""

from typing import Any

from tidings.erasure.tenant_steps import TenantStepDeps
from tidings.exports import bucket, exporter
from tidings.retention.sweeper import RetentionSweeper
from tidings.search import sweeper as index_sweeper

PART_BYTES = 5 * 1024 * 1024
"""The smallest part that S3 accepts."""
PAGE = 3


def use_short_steps() -> None:
    vars(exporter).update(PAGE_ENTRIES=PAGE, READ_ENTRIES=2, STEP_CHATS=2)
    vars(bucket).update(UPLOAD_BYTES=PART_BYTES)
    vars(index_sweeper).update(EVERY_S=1.0)
    _set_defaults(RetentionSweeper.__init__, interval_s=1.0, page_entries=PAGE)
    _set_defaults(TenantStepDeps.__init__, page_rows=20)


def _set_defaults(init: Any, **defaults: object) -> None:
    assert init.__kwdefaults__.keys() >= defaults.keys()
    init.__kwdefaults__ = init.__kwdefaults__ | defaults
