"""Wire retention: the sweeper that expires messages, and the service that sets limits and holds of chats."""

from collections.abc import Sequence

from tidings.accounts.store.users import DynamoUserStore
from tidings.app.wiring.chats import build_chat_store
from tidings.app.wiring.engine_clients import EngineComponents
from tidings.app.wiring.search import UserDirectory
from tidings.delivery.store import DynamoDeliveryEraser, DynamoOfflineQueue
from tidings.kernel.clock import Clock
from tidings.kernel.failpoints import NO_FAILPOINTS, Failpoints
from tidings.kernel.ids import Epoch, TenantId
from tidings.media.model import MediaTask
from tidings.media.ports import MediaTaskPublisher, SweepLease
from tidings.media.store.sweep_lease import DynamoSweepLease
from tidings.media.store.tasks import KafkaMediaTasks
from tidings.messages.store import DynamoLogExpiry, DynamoLogReader
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.protected_rows import AuthenticatedRows
from tidings.platform.kafka.publisher import KafkaPublisher
from tidings.platform.lifecycle.run import ProcessContext
from tidings.retention.model import RetentionStats
from tidings.retention.service import RetentionService
from tidings.retention.store import DynamoRetentionStore
from tidings.retention.sweeper import RetentionDeps, RetentionSweeper
from tidings.tenants.settings import TenantService
from tidings.tenants.store import DynamoTenantStore
from tidings.tenants.user_keys import UserKeyRing

LEASE = "retention_sweep"


def build_retention_service(client: DynamoClient) -> RetentionService:
    return RetentionService(DynamoRetentionStore(client))


def retention_deps(
    client: DynamoClient,
    keys: UserKeyRing,
    tasks: MediaTaskPublisher,
    clock: Clock,
    *,
    epoch: Epoch,
    lease: SweepLease | None = None,
    failpoints: Failpoints = NO_FAILPOINTS,
) -> RetentionDeps:
    """Return what a sweeper needs. Without `lease`, it sweeps even if another process does."""
    tenants = DynamoTenantStore(client, AuthenticatedRows(keys.tenants))

    def delete_uploads(tenant: TenantId, uploads: Sequence[str]) -> None:
        for upload in uploads:
            tasks.publish_soon(MediaTask(tenant=tenant, upload=upload, action="delete"))

    return RetentionDeps(
        store=DynamoRetentionStore(client),
        log=DynamoLogReader(client),
        expiry=DynamoLogExpiry(client),
        tenants=tenants,
        list_tenants=TenantService(tenants, clock).list,
        users=UserDirectory(DynamoUserStore(client, keys.tenants, keys)),
        chats=build_chat_store(client, clock, epoch),
        previews=DynamoDeliveryEraser(client),
        withdraw=DynamoOfflineQueue(client, clock).withdraw,
        delete_uploads=delete_uploads,
        clock=clock,
        lease=lease,
        failpoints=failpoints,
    )


def build_process_sweeper(
    host: ProcessContext, engines: EngineComponents, publisher: KafkaPublisher
) -> RetentionSweeper:
    """Build the sweeper of a process, and export what it has done."""
    client = engines.dynamo.value
    deps = retention_deps(
        client,
        engines.user_keys.value,
        KafkaMediaTasks(publisher),
        host.clock,
        epoch=engines.epoch,
        lease=DynamoSweepLease(client, host.clock, host.identity.instance, name=LEASE),
        failpoints=host.failpoints,
    )
    sweeper = RetentionSweeper(deps)
    host.metrics.counter_callbacks(
        "retention_swept_total",
        "What sweeps of expired messages did: chats whose limit was compared, chats whose log was read, messages that were "
        "emptied, chats that failed and are tried again.",
        "what",
        lambda: {name: getattr(sweeper.stats, name) for name in RetentionStats.__slots__},
    )
    host.metrics.gauge(
        "retention_sweep_age_seconds", "Time since the last sweep of expired messages was finished."
    ).set_function(lambda: (host.clock.now_ms() - sweeper.finished_at_ms) / 1000)
    return sweeper
