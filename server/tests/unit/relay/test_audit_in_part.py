"""The audit while some of the marks can't be read."""

from fixtures.relay_env import RelayEnv, chat_of, drain_relay
from unit.relay.test_audit import A, later


async def test_chats_whose_marks_can_be_read_are_judged_while_others_can_not() -> None:
    scene = RelayEnv()
    scene.streams.open("s")
    for name in ("a", "b", "c"):
        scene.streams.put("s", name, 1)
    scene.handle("c", 1)
    scene.marks.unknown = {chat_of("b")}
    relay, _ = scene.relay()
    await drain_relay(relay)
    await later(scene, relay)
    assert scene.kafka.of(A) == [(1,)]
    assert scene.kafka.of(chat_of("b")) == [], "it may have been handled"
    assert relay.waiting == 2
    scene.marks.unknown, scene.kafka.committed = set(), len(scene.kafka.log)
    await later(scene, relay, 12)
    assert scene.kafka.of(chat_of("b")) == [(1,)]
    await relay.stop()
