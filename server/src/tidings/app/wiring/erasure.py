"""Wire erasures: the service that requests them, and the worker that runs their steps."""

from dataclasses import dataclass

from tidings.accounts.store.erasure import DynamoUserEraser
from tidings.accounts.store.sessions import DynamoSessionStore
from tidings.accounts.store.users import DynamoUserReader
from tidings.app.settings import Settings
from tidings.app.wiring.chats import build_chat_store, build_past_log
from tidings.app.wiring.engine_clients import EngineComponents
from tidings.app.wiring.inboxes import InboxServices
from tidings.app.wiring.search import UnpublishedChunks
from tidings.audit.log import AuditLog
from tidings.audit.store import DynamoAuditStore
from tidings.chats.commands import ChatCommands
from tidings.chats.erasure import ChatDepartures
from tidings.chats.store import DynamoMembershipEraser
from tidings.delivery.store import DynamoDeliveryEraser
from tidings.erasure import certificate as certificates
from tidings.erasure.certificate import Certificate
from tidings.erasure.chat_steps import ChatStepDeps, ChatSteps
from tidings.erasure.data_steps import DataStepDeps, DataSteps
from tidings.erasure.model import Erasure
from tidings.erasure.ports import EraseDocuments, SignCertificate
from tidings.erasure.rules import search_job_of
from tidings.erasure.service import ErasureRunner, ErasureService
from tidings.erasure.store import DynamoErasureStore, DynamoTenantRows
from tidings.erasure.tenant_steps import TenantStepDeps, tenant_actions
from tidings.erasure.worker import ErasureWorker, step_actions
from tidings.exports.bucket import ExportEraser, ExportObjects
from tidings.exports.store.exports import DynamoExportStore
from tidings.inboxes.store import DynamoInboxEraser
from tidings.installation.restore import LONGEST_BACKUP_MS, ErasedAgain
from tidings.jobs.chunk_topic import KafkaChunkPublisher
from tidings.jobs.model import WHOLE_TENANT
from tidings.jobs.ports import JobStarter, JobStore
from tidings.jobs.service import JobService
from tidings.jobs.store import DynamoJobStore
from tidings.kernel.clock import Clock
from tidings.kernel.ids import TenantId, UserId, initial_epoch
from tidings.media.store.tasks import KafkaMediaTasks
from tidings.media.store.uploads import DynamoUploadStore
from tidings.messages.store import DynamoLogEraser
from tidings.moderation.store import DynamoReviewStore
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.protected_rows import AuthenticatedRows
from tidings.platform.kafka.publisher import KafkaPublisher
from tidings.platform.lifecycle.run import ProcessContext
from tidings.platform.s3.client import S3Client
from tidings.push.store.registrations import DynamoRegistrationStore
from tidings.retention.archive.bucket import TenantArchiveEraser
from tidings.tenants.key_ring import KeyRing
from tidings.tenants.model import TenantLookup
from tidings.tenants.settings import TenantReader
from tidings.tenants.store import DynamoTenantStore, DynamoUserKeyStore


def build_erasure_service(
    client: DynamoClient, jobs: JobStarter, clock: Clock, keys: KeyRing | None
) -> ErasureService:
    """Build the service. Without the keys of tenants, it cannot read their settings: every request waits for an approval."""
    # The store is only asked whether the user has a row.
    users, chats = DynamoUserReader(client), build_chat_store(client, clock, initial_epoch)
    tenants = None if keys is None else DynamoTenantStore(client, AuthenticatedRows(keys))

    async def is_known(tenant: TenantId, user: UserId) -> bool:
        if user == WHOLE_TENANT:
            return tenants is not None and await tenants.read(tenant) is not None
        if await users.confirm(tenant, user) is not None:
            return True
        return bool(await chats.chats_of(tenant, user, None, 1))

    async def needs_approval(tenant: TenantId) -> bool:
        if tenants is None:
            return True
        found = await tenants.read(tenant)
        return found is not None and found.settings.has_erasure_approval

    return ErasureService(DynamoErasureStore(client), is_known, jobs, clock, needs_approval=needs_approval)


def build_command_erasures(
    settings: Settings, client: DynamoClient, clock: Clock, keys: KeyRing | None = None
) -> ErasureService:
    """Build the service of a command. It has no Kafka: the job sweeper publishes the chunk within some seconds."""
    store = DynamoJobStore(client, clock, settings.inboxes.job_retention_days)
    return build_erasure_service(client, JobService(store, UnpublishedChunks(), clock), clock, keys)


async def erase_again(
    settings: Settings, client: DynamoClient, clock: Clock, tenant: TenantId, restored_ms: int
) -> ErasedAgain:
    """Erase users of a tenant again if tables of this time may have their data, while no process runs. Idempotent.

    Their keys are destroyed and their credentials are refused before any process starts. The rest is their job.
    """
    since_ms, keys, erasures = restored_ms - LONGEST_BACKUP_MS, DynamoUserKeyStore(client), 0
    count = await keys.destroy_again(tenant, since_ms)
    service, users = build_command_erasures(settings, client, clock), DynamoUserEraser(client)
    async for user, _ in keys.erased(tenant, since_ms):
        if await service.start_again(tenant, user, restored_ms):
            await users.fence(tenant, user, clock.now_ms())
            erasures += 1
    return ErasedAgain(count, erasures)


async def delete_tenants_again(
    settings: Settings, client: DynamoClient, clock: Clock, restored_ms: int
) -> int:
    """Delete tenants again if tables of this time may have their data, while no process runs. Idempotent.

    Their credentials are refused before any process starts. The rest is their job. Returns how many deletions start again.
    """
    service, users, deletions = build_command_erasures(settings, client, clock), DynamoUserEraser(client), 0
    async for tenant in DynamoErasureStore(client).deleted_tenants():
        if await service.start_again(tenant, WHOLE_TENANT, restored_ms):
            await users.fence_tenant(tenant, clock.now_ms())
            deletions += 1
    return deletions


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasureWiring:
    """Everything that the worker needs from its process. `s3` is None without a bucket."""

    settings: Settings
    host: ProcessContext
    engines: EngineComponents
    publisher: KafkaPublisher
    inboxes: InboxServices
    commands: ChatCommands
    s3: S3Client | None

    def worker(self) -> ErasureWorker:
        store, clock = DynamoErasureStore(self.engines.dynamo.value), self.host.clock
        data = DataSteps(self._data_deps())
        runner = ErasureRunner(
            store,
            step_actions(ChatSteps(self._chat_deps()), data),
            clock,
            self.host.failpoints,
            tenant_actions=tenant_actions(self._tenant_deps(data)),
        )
        return ErasureWorker(
            runner,
            store,
            jobs=self.inboxes.job_store,
            starter=self.inboxes.jobs,
            chunks=KafkaChunkPublisher(self.publisher),
            audit=AuditLog(DynamoAuditStore(self.engines.dynamo.value), clock),
            clock=clock,
        )

    def _tenant_deps(self, data: DataSteps) -> TenantStepDeps:
        jobs, has_search = self.inboxes, self.settings.search.engine != "none"
        return TenantStepDeps(
            users=DynamoUserEraser(self.engines.dynamo.value),
            rows=DynamoTenantRows(self.engines.dynamo.value),
            files=data.uploads,
            documents=documents_of_tenant(jobs.job_store, jobs.jobs, has_search=has_search),
            sign=sign_with(self.engines.keys.value),
            clock=self.host.clock,
            failpoints=self.host.failpoints,
        )

    def _chat_deps(self) -> ChatStepDeps:
        client, clock, epoch = self.engines.dynamo.value, self.host.clock, self.engines.epoch
        return ChatStepDeps(
            memberships=DynamoMembershipEraser(client, clock, build_past_log(client, clock, epoch)),
            depart=ChatDepartures(self.commands, build_chat_store(client, clock, epoch)).depart,
            log=DynamoLogEraser(client),
            delivery=DynamoDeliveryEraser(client),
            clock=clock,
            failpoints=self.host.failpoints,
        )

    def _data_deps(self) -> DataStepDeps:
        client, keys = self.engines.dynamo.value, self.engines.keys.value
        rows = AuthenticatedRows(keys)
        tenants = TenantReader(DynamoTenantStore(client, rows), self.host.clock)
        return DataStepDeps(
            users=DynamoUserEraser(client),
            sessions=DynamoSessionStore(client, rows),
            keys=DynamoUserKeyStore(client),
            push=DynamoRegistrationStore(client, keys),
            inboxes=DynamoInboxEraser(client),
            uploads=DynamoUploadStore(client),
            media=KafkaMediaTasks(self.publisher),
            archives=None
            if self.s3 is None
            else ExportEraser(DynamoExportStore(client), ExportObjects(self.s3)),
            archive=None if self.s3 is None else TenantArchiveEraser(self.s3),
            delivery=DynamoDeliveryEraser(client),
            reviews=DynamoReviewStore(client, self.engines.user_keys.value),
            documents=documents_by_job(self.inboxes.job_store, self.inboxes.jobs, tenants),
            sign=sign_with(keys),
            clock=self.host.clock,
            failpoints=self.host.failpoints,
        )


def sign_with(keys: KeyRing) -> SignCertificate:
    """Sign certificates with the key of the installation, which is unwrapped for each: there are few."""

    async def sign(certificate: Certificate) -> str:
        return certificates.sign(certificate, await keys.certificate_seed())

    return sign


def documents_by_job(store: JobStore, jobs: JobStarter, tenants: TenantLookup) -> EraseDocuments:
    """Delete documents by a job of the search process, which alone can write the index.

    A tenant without search has none: the search process deletes them when the tenant turns search off.
    """

    async def erase(erasure: Erasure) -> bool:
        tenant = await tenants.find(erasure.tenant)
        if tenant is None or not tenant.settings.has_search:
            return True
        return await _run_search_job(store, jobs, erasure)

    return erase


def documents_of_tenant(store: JobStore, jobs: JobStarter, *, has_search: bool) -> EraseDocuments:
    """Delete all documents of a tenant by a job of the search process, if the installation has one."""

    async def erase(erasure: Erasure) -> bool:
        if not has_search:
            return True
        return await _run_search_job(store, jobs, erasure)

    return erase


async def _run_search_job(store: JobStore, jobs: JobStarter, erasure: Erasure) -> bool:
    job = search_job_of(erasure)
    if await store.read(job.tenant, job.id) is None:
        await jobs.start(job)
    return await store.is_done(job.tenant, job.id, 0)
