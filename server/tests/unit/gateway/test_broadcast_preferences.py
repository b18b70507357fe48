"""Which devices are not notified of a broadcast because of their users' preferences."""

from fixtures.loops import until
from unit.gateway.test_broadcast_notifier import N1, N2, OpenNotifier, open_notifier, quiet, subscribe

from tidings.inboxes.broadcasts.model import BroadcastEntryKind
from tidings.inboxes.preferences import Channel, UserPreferences

__all__ = ["open_notifier"]


async def test_a_broadcast_is_not_announced_to_users_who_switched_its_category_off(
    open_notifier: OpenNotifier,
) -> None:
    broadcasts, notifier, (anna, ben, cleo) = open_notifier()
    off = UserPreferences(categories={1: {Channel.INBOX: False}}, version=1)
    on_again = UserPreferences(version=2)
    for phone, preferences in ((anna, off), (ben, on_again), (ben, off)):
        notifier.note_preferences(phone.device, "default", preferences)
    await subscribe(broadcasts)
    broadcasts.asked.clear()
    broadcasts.append(BroadcastEntryKind.PUBLISH, N1, category=1)
    broadcasts.append(BroadcastEntryKind.PUBLISH, N2, category=1, is_critical=True)
    broadcasts.say()
    await until(lambda: all(N2 in phone.added for phone in (anna, ben, cleo)))
    await quiet(notifier)
    assert [sorted(phone.added) for phone in (anna, ben, cleo)] == [[N2], [N1, N2], [N1, N2]]
