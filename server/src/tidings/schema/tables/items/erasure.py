"""Items of the table `erasures`: erased users, deleted tenants, and the progress of each."""

from tidings.schema.tables.items.accounts import TENANT
from tidings.schema.tables.items.retention import OWN_LIMIT, UNINDEXED_CHAT
from tidings.schema.tables.limits import MS, SECONDS, BlobLimit, FlagLimit, NumberLimit, TextLimit
from tidings.schema.tables.model import Growth, KeyTemplate, TableItem

ERASURE_KEY = KeyTemplate("{at_ms:013d}#{user}")
ERASURE_OF_USER = KeyTemplate("{tenant}#user#{user}")
ERASURE_PROGRESS_SORT = KeyTemplate("progress")
DELETED_TENANTS = KeyTemplate("_system#deleted_tenants")
DELETED_TENANT_KEY = KeyTemplate("{at_ms:013d}#{tenant}")

ERASURE = TableItem(
    "erasure",
    TENANT,
    ERASURE_KEY,
    {"waiting": FlagLimit(), "ttl": SECONDS},
    max_bytes=256,
    holds="an erased user. `restore finish` destroys their keys again, unless the request is `waiting` for an approval",
    growth=Growth("planned: 10 million erased users of a tenant in the 400 days of the TTL", 10_000_000),
)
DELETED_TENANT = TableItem(
    "deletion of a tenant",
    DELETED_TENANTS,
    DELETED_TENANT_KEY,
    {"ttl": SECONDS},
    max_bytes=256,
    holds="a deleted tenant. `restore finish` starts its deletion again",
    growth=Growth("planned: 10,000 deleted tenants in the 400 days of the TTL", 10_000),
)
ERASURE_PROGRESS = TableItem(
    "progress of an erasure",
    ERASURE_OF_USER,
    ERASURE_PROGRESS_SORT,
    {
        "id": TextLimit(26),
        "requested_by": TextLimit(256),
        "requested_ms": MS,
        # The state of a request that a second approver decides, the approver, and the time.
        "approval": BlobLimit(512),
        # Derives the pseudonyms. Deleted when the certificate is signed.
        "secret": BlobLimit(32),
        "step": TextLimit(16),
        "step_ms": MS,
        "cursor": BlobLimit(512),
        "counts": BlobLimit(1024),
        "certificate": TextLimit(4096),
        "version": NumberLimit(9),
        "ttl": SECONDS,
    },
    max_bytes=7 * 1024,
    holds="the step that the erasure of a user has reached, the number of items that it has erased, and its certificate",
)
ERASURES = (ERASURE, DELETED_TENANT, ERASURE_PROGRESS, OWN_LIMIT, UNINDEXED_CHAT)
