"""What runs once the ground is laid: the processes, the people, and what to do next. Ends with a signal."""

import asyncio
from time import monotonic

from tidings.kernel.clock import Clock, SystemClock
from tidings.run.cli import brought
from tidings.run.dev import code, town
from tidings.run.dev.keeper import GivenUpError
from tidings.run.dev.keys import DevKeys, found_tenant
from tidings.run.dev.kinds import Kind, settings_of
from tidings.run.dev.place import Place
from tidings.run.dev.supervisor import Supervisor
from tidings.run.dev.voice import Voice
from tidings.run.settings.load import Loaded

_BESIDE_STOP_S = 2.0
_EXIT_FAILED = 1


class Serving:
    def __init__(self, place: Place, kinds: list[Kind], voice: Voice, began: float) -> None:
        self.place = place
        self.voice = voice
        self._kinds = kinds
        self._began = began
        self._clock: Clock = SystemClock()

    async def serve(self, loaded: Loaded, *, may_watch: bool) -> int:
        watches = may_watch and code.is_ours()
        keys = await found_tenant(loaded.settings, self.place, self._clock)
        for kind in self._kinds:
            if kind.note:
                self.voice.say(kind.note, "yellow")
        supervisor = Supervisor(
            self._kinds,
            lambda kind: settings_of(kind, loaded, keys.cursor_secret),
            self.voice,
            stop_s=_stop_s(self._kinds, loaded),
            watches=watches,
        )
        try:
            await supervisor.run(lambda: self._settle(supervisor, loaded, keys, watches=watches))
        except GivenUpError as error:
            self._tell_death(error)
            return _EXIT_FAILED
        return 0

    async def _settle(self, supervisor: Supervisor, loaded: Loaded, keys: DevKeys, *, watches: bool) -> None:
        await supervisor.ready()
        urls, life_s = self._urls(loaded), loaded.settings.accounts.token_max_lifetime_s
        tokens = town.tokens_of(keys, self._clock.now_ms() // 1000, life_s)
        chats = await town.Town(urls["api"], keys, tokens, self.voice).settle()
        ports = {kind.name: kind.admin_port for kind in self._kinds}
        more = {"chats": chats, "server_key": keys.server, "admin_ports": ports}
        town.publish(self.place, self._clock, urls, tokens, **more)
        self._tell_next(urls, watches=watches)
        while True:
            await asyncio.sleep(life_s / 2)
            tokens = town.tokens_of(keys, self._clock.now_ms() // 1000, life_s)
            town.publish(self.place, self._clock, urls, tokens, **more)

    def _urls(self, loaded: Loaded) -> dict[str, str]:
        ports = {kind.name: kind.port for kind in self._kinds}
        return {
            "api": f"http://127.0.0.1:{ports['api']}",
            "gateway": f"ws://127.0.0.1:{ports['gateway']}{loaded.settings.gateway.path}",
        }

    def _tell_next(self, urls: dict[str, str], *, watches: bool) -> None:
        names = ", ".join(kind.name for kind in self._kinds)
        lines = [
            f"  API      {urls['api']}, every route to try at {urls['api']}/docs",
            f"  gateway  {urls['gateway']}",
            f"  try      curl -H @{self.place.header('anna')} {urls['api']}/v1/chats",
            f"  people   {', '.join(town.PEOPLE)}: addresses and tokens in {self.place.client}",
            f"  kept     data and logs in {self.place.home}; `tidings dev --fresh` forgets them",
            "  stop     Ctrl-C" + (f"; a change of the code restarts {names}" if watches else ""),
        ]
        if "chat" in brought():
            lines.insert(3, "  chat     tidings chat --as anna, in another terminal; --as ben in a third")
        self.voice.tell(f"ready in {monotonic() - self._began:.1f} s", "bold green")
        for line in lines:
            self.voice.tell(line)

    def _tell_death(self, error: GivenUpError) -> None:
        self.voice.say(f"{error}. The last it said:", "bold red")
        for line in error.last_words:
            self.voice.repeat(error.name, line)
        self.voice.say(f"all of it: {self.place.logs / error.name}.log; `tidings doctor` looks for the cause")


def _stop_s(kinds: list[Kind], loaded: Loaded) -> float:
    """As long as a process takes for itself, and a little."""
    given = settings_of(kinds[0], loaded, "")
    life = loaded.settings.process
    drain_s = float(given.get("TIDINGS_PROCESS_DRAIN_S", life.drain_s))
    return drain_s + float(given.get("TIDINGS_PROCESS_STOP_S", life.stop_s)) + _BESIDE_STOP_S
