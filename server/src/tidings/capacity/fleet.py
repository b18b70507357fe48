"""How many processes, brokers and Redis shards a workload needs at its peak. Pure."""

from math import ceil

from tidings.capacity import measured
from tidings.capacity.model import KafkaLoad, ProcessLoad, RedisLoad, Workload
from tidings.capacity.rules import MAX_CHECKED_MEMBERS, entry_bytes, messages_of
from tidings.schema.topics.model import TOPICS, InstallationSize

MAX_CONNECTIONS = 50_000
"""Of a gateway (`gateway.max_connections`)."""
CONNECTIONS_SHARE = 0.8
"""Share of them that is planned, so that the others can take the devices of a gateway that stops."""
MIN_PROCESSES = 2
"""Of each kind, on different machines."""
WORKER_PER_S = 1_000
"""Messages a second that a worker processes of one partition; see the topic `messages`."""
BROKER_PARTITIONS = 2_000
"""Partition replicas of a broker with 8 cores and 32 GB, as Amazon MSK recommends for kafka.m7g.2xlarge."""
BROKER_MB_S = 60
"""Records in, with the copies that a broker receives from others: half of a gp3 volume with 125 MB/s."""
BROKER_CORES = {InstallationSize.SMALL: 2, InstallationSize.MEDIUM: 4, InstallationSize.LARGE: 8}
REDIS_NODE_GB = 8
_MESSAGES = next(topic for topic in TOPICS if topic.name == "messages")


def installation_size(workload: Workload) -> InstallationSize:
    """Return the smallest size whose partitions carry twice the peak, so that workers can catch up."""
    needed = 2 * workload.peak_messages_per_s / WORKER_PER_S
    sizes = [size for size in InstallationSize if _MESSAGES.partitions.of(size) >= needed]
    return sizes[0] if sizes else InstallationSize.LARGE


def processes(workload: Workload) -> tuple[ProcessLoad, ...]:
    messages = messages_of(workload)
    direct, small, large = (workload.per_s(each) for each in messages[:3])
    per_group = measured.GROUP_100_WORKER_US.value / MAX_CHECKED_MEMBERS
    base_us = measured.DIRECT_US.value * measured.DELIVERY_SHARE.value
    delivery_us = (direct + small + large) * base_us + small * per_group * messages.small_others
    relay_us = (direct + small + large) * measured.DIRECT_US.value * measured.RELAY_SHARE.value
    requests = workload.per_s(workload.daily_users * (workload.chat_opens + workload.list_opens))
    limit = message_partitions(installation_size(workload))
    return (
        _gateways(workload),
        _sized("delivery", delivery_us, f"at most {limit:,}, one per partition"),
        _sized("api", requests * measured.READ_REQUEST_US.value, "CPU"),
        _sized("relay", relay_us, "CPU"),
        ProcessLoad("notifications", MIN_PROCESSES, MIN_PROCESSES, _gb(MIN_PROCESSES), "not measured"),
    )


def message_partitions(size: InstallationSize) -> int:
    """Return the partitions of `messages`, which limit the delivery workers."""
    return _MESSAGES.partitions.of(size)


def _gateways(workload: Workload) -> ProcessLoad:
    messages, devices = messages_of(workload), workload.devices
    online = workload.connected_share
    to_groups = (messages.small * messages.small_others + messages.large * messages.large_others) * online
    sends = (
        workload.per_s(workload.messages_per_day) * measured.DIRECT_US.value * measured.GATEWAY_SHARE.value
    )
    fanout = workload.per_s(to_groups * devices) * measured.FANOUT_US.value
    connects = workload.per_s(workload.daily_users * devices * workload.connects) * measured.CONNECT_US.value
    cores = (sends + fanout + connects) / 1e6
    by_cpu = ceil(cores / measured.CPU_SHARE)
    by_connections = ceil(workload.connections / (MAX_CONNECTIONS * CONNECTIONS_SHARE))
    count = max(MIN_PROCESSES, by_cpu, by_connections)
    memory = workload.connections * measured.CONNECTION_KB.value / 1e6 + _gb(count)
    bounds = {by_connections: "connections", by_cpu: "CPU"}
    return ProcessLoad("gateway", count, cores, memory, bounds.get(count, "two machines"))


def _sized(kind: str, cpu_us: float, bound_by: str) -> ProcessLoad:
    cores = cpu_us / 1e6
    count = max(MIN_PROCESSES, ceil(cores / measured.CPU_SHARE))
    return ProcessLoad(kind, count, cores, _gb(count), bound_by if count > MIN_PROCESSES else "two machines")


def _gb(count: int) -> float:
    return count * measured.PROCESS_MB / 1_000


def kafka(workload: Workload) -> KafkaLoad:
    size = installation_size(workload)
    messages, away = messages_of(workload), 1 - workload.connected_share
    replicas = sum(topic.partitions.of(size) * topic.replicas for topic in TOPICS)
    record = measured.RECORD_BYTES + workload.message_bytes
    checks = messages.direct * away * 2 + messages.small * (1 + messages.small_others * away)
    per_day = workload.messages_per_day * record + checks * measured.CHECK_BYTES
    kept_days = _MESSAGES.retention_s / 86_400
    in_mb_s = workload.per_s(per_day) / 1e6
    disk_gb = per_day * kept_days * _MESSAGES.replicas / 1e9
    wanted = {
        "three copies": _MESSAGES.replicas,
        "partitions": ceil(replicas / BROKER_PARTITIONS),
        "throughput": ceil(in_mb_s * _MESSAGES.replicas / BROKER_MB_S),
    }
    bound_by = max(wanted, key=lambda why: wanted[why])
    return KafkaLoad(str(size), replicas, wanted[bound_by], in_mb_s, disk_gb, bound_by)


def redis(workload: Workload) -> RedisLoad:
    messages, online = messages_of(workload), workload.connected_share
    memory = workload.connections * measured.ROUTE_BYTES / 1e9
    looked_up = messages.small * messages.small_others
    pushed = (looked_up + messages.large * messages.large_others) * online
    per_day = workload.messages_per_day + (looked_up + pushed) * _LOOK_UP_SHARE
    cores = workload.per_s(per_day) * measured.REDIS_US.value / 1e6
    by_cpu, by_memory = ceil(cores / measured.CPU_SHARE), ceil(memory / (REDIS_NODE_GB / 2))
    return RedisLoad(max(1, by_cpu, by_memory), memory, cores, "CPU" if by_cpu >= by_memory else "memory")


_LOOK_UP_SHARE = 0.02
"""Planned: the look-up of a member of a group, as a share of a direct message. Look-ups go in one pipeline."""


def entries_gb(workload: Workload) -> float:
    """Return the size of the stored messages, with DynamoDB's 100 bytes for each item."""
    return workload.messages_per_day * workload.kept_days * (entry_bytes(workload) + 100) / 1e9
