"""Memory is trimmed when most connections have closed, and not after each one."""

import gc

from tidings.platform.lifecycle.process import MallocTrimmer, freeze_gc


def test_memory_is_trimmed_once_after_many_connections_closed() -> None:
    memory = MallocTrimmer()
    for count in (0, 5_000, 4_000, 2_600):
        memory.trim_if_idle(count)
    assert memory.times == 0
    memory.trim_if_idle(2_400)
    memory.trim_if_idle(2_300)
    assert memory.times == 1


def test_a_few_closed_connections_do_not_trim_memory() -> None:
    memory = MallocTrimmer()
    memory.trim_if_idle(900)
    memory.trim_if_idle(0)
    assert memory.times == 0


def test_objects_of_the_start_are_not_collected_again() -> None:
    stays = [object() for _ in range(10)]
    try:
        freeze_gc()
        assert gc.get_freeze_count() > 1_000
        assert id(stays) not in {id(each) for each in gc.get_objects(generation=2)}
    finally:
        gc.unfreeze()
