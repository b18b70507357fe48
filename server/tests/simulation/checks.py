"""The conditions that must hold after all faults have ended and the system has settled; only the log is trusted."""

from collections.abc import Iterator

from simulation.device import Device
from simulation.world import SimulatedWorld

from tidings.delivery import rules
from tidings.delivery.model import ChatRow
from tidings.delivery.store.items import OF_A_CHAT, row_from_item, update_from_item
from tidings.kernel.ids import ChatId, UserId
from tidings.messages.model import Interval, may_see
from tidings.platform.dynamo.codec import Item

type Log = dict[int, Item]
type Stays = dict[UserId, list[Interval]]


def logs(world: SimulatedWorld) -> dict[ChatId, Log]:
    """Return each chat's entries. Partitions next to the log (reactions, ephemeral content) have a longer key."""
    partitions = world.tables.rows["messages"].partitions
    found = {name.partition("#")[2]: log for name, log in partitions.items()}
    return {ChatId(chat): dict(sorted(log.items())) for chat, log in found.items() if "#" not in chat}


def stays_in(log: Log) -> Stays:
    """Return the membership intervals according to the entries, without the membership rows."""
    found: Stays = {}
    for sequence, entry in log.items():
        if entry["kind"] in {"create", "join"}:
            for user in entry["users"]:
                found.setdefault(user, []).append(Interval(sequence - 1, None))
        elif entry["kind"] == "leave":
            for user in entry["users"]:
                found[user][-1] = Interval(found[user][-1].joined, sequence)
    return found


def is_settled(world: SimulatedWorld) -> bool:
    """Return whether no device waits for an answer and no entry is missing."""
    if world.busy or any(device.outbox or not device.is_live for device in world.devices):
        return False
    return not any(True for chat, log in logs(world).items() for _ in _faults_of_chat(world, chat, log))


def breaches(world: SimulatedWorld) -> Iterator[str]:
    yield from world.record.breaches
    yield from world.scheduler.faults
    if world.busy:
        yield f"{world.busy} changes of chats have no answer"
    for device in world.devices:
        if not device.is_live:
            yield f"{device.process.name} never became live"
        if device.outbox:
            yield f"{device.process.name} has no answer for {len(device.outbox)}, first {device.outbox[0]}"
    for chat, log in logs(world).items():
        yield from _faults_of_keys(world, chat, log)
        yield from _faults_of_chat(world, chat, log)
        yield from _faults_of_pages(world, chat, stays_in(log))


def _faults_of_pages(world: SimulatedWorld, chat: ChatId, stays: Stays) -> Iterator[str]:
    for user, asked, shown in world.record.pages:
        strange = [n for n in shown if asked == chat and not may_see(stays.get(user, []), n)]
        if strange:
            yield f"{user} was shown {strange} of {chat}, outside the membership: {stays.get(user)}"


def _faults_of_keys(world: SimulatedWorld, chat: ChatId, log: Log) -> Iterator[str]:
    places: dict[tuple[str, str], int] = {}
    for sequence, entry in log.items():
        key = (entry["sender_id"], entry["client_message_id"])
        if key in places:
            yield f"{key} is twice in {chat}: {places[key]} and {sequence}"
        places[key] = sequence
        refused = world.record.refusals.get((chat, key[1]))
        if refused is not None:
            yield f"{key} is in {chat} at {sequence} although it was rejected: {refused}"
        acked = world.record.answered.get((chat, key[1]), sequence)
        if acked != sequence:
            yield f"{key} is at {sequence}, but was acked at {acked}"


def _faults_of_chat(world: SimulatedWorld, chat: ChatId, log: Log) -> Iterator[str]:
    stays = stays_in(log)
    for device in world.devices:
        yield from _faults_of_device(device, chat, log, stays.get(device.user, []))
    for user, intervals in stays.items():
        yield from _faults_of_row(world, chat, log, user, intervals)


def _faults_of_device(device: Device, chat: ChatId, log: Log, intervals: list[Interval]) -> Iterator[str]:
    name = device.process.name
    is_member = bool(intervals) and intervals[-1].removed is None
    if chat not in device.began:
        if is_member:
            yield f"{name} has no entry of {chat}"
        return
    began, held = device.began[chat], device.held.get(chat, {})
    wanted = [n for n in log if n > began and may_see(intervals, n)]
    missing, strange = [n for n in wanted if n not in held], [n for n in held if n not in set(wanted)]
    if missing:
        yield f"{name} misses {missing} of {chat}, began {began}, head {len(log)}"
    if strange:
        yield f"{name} holds {strange} of {chat}, outside the membership: {intervals}"
    for sequence in held:
        entry = log.get(sequence)
        if entry is not None and held[sequence]["by"] != entry["sender_id"]:
            yield f"{name} holds another {sequence} of {chat} than the log"
    own = [n for n in wanted if log[n]["kind"] == "message"]
    texts = [n for n in own if n in held and _text(held[n]) != _said(log[n]) and not _is_changed(log[n])]
    if texts:
        yield f"{name} holds another text at {texts} of {chat}"


def _text(entry: dict[str, object]) -> object:
    return entry.get("text", "")


def _said(item: Item) -> str:
    """Return the text of an entry, which follows the place that the content was sealed for."""
    content: bytes = item.get("content", b"")
    return content.partition(b"|")[2].decode().partition('"text":"')[2].partition('"')[0]


def _is_changed(item: Item) -> bool:
    return "edited_at" in item or "redacted_at" in item


def _faults_of_row(
    world: SimulatedWorld, chat: ChatId, log: Log, user: UserId, intervals: list[Interval]
) -> Iterator[str]:
    """Check the chat list: the head that the user may see, and the unread count according to the log."""
    item = world.tables.rows["delivery_state"].get({"user_id": f"acme#{user}", "chat_id": f"acme#{chat}"})
    if item is None:
        yield f"{user} has no row for {chat}"
        return
    row = _with_head(world, chat, user, row_from_item(item))
    last = max(n for n in log if may_see(intervals, n))
    head = row.known.head.sequence if row.known.head else 0
    if head != last:
        yield f"the row of {user} in {chat} is at {head}, not at {last}"
        return
    if (delivered := row.delivered.sequence if row.delivered else 0) > last:
        yield f"{user} has {delivered} of {chat} delivered, above {last}"
    if intervals[-1].removed is None:
        own = max((n for n in log if _is_message(log[n]) and log[n]["sender_id"] == user), default=0)
        since = max(own, row.read.sequence if row.read else 0, intervals[-1].joined + 1)
        unread = sum(_is_message(log[n]) for n in log if n > since)
        if rules.unread_count(row) != unread:
            yield f"{user} has {rules.unread_count(row)} unread in {chat}, and it is {unread}"


def _with_head(world: SimulatedWorld, chat: ChatId, user: UserId, row: ChatRow) -> ChatRow:
    """Return the row of a group with the head that its members share. A quiet row has the head's position itself."""
    if row.known.quiet_at_ms is not None:
        return row
    head = world.tables.rows["chat_counters"].get({"chat_id": f"acme#{chat}"})
    return row if head is None else rules.with_head(row, update_from_item(head, OF_A_CHAT), user)


def _is_message(item: Item) -> bool:
    return bool(item["kind"] == "message")
