"""Pass a request through the installed faults in order of installation, then to the engine."""

from collections.abc import Awaitable
from typing import TYPE_CHECKING, final

from faults.proxy.dynamo_request import ITERATOR_OPERATIONS, Request, ShardIterators
from faults.proxy.fault import Exchange
from faults.proxy.held_requests import DroppedError
from faults.proxy.reply import End, Reply, nothing
from faults.proxy.upstream import Upstream, UpstreamGoneError

if TYPE_CHECKING:
    from faults.proxy.calls import Call, CallLog
    from faults.proxy.event_log import ProxyEventLog
    from faults.proxy.http_message import Message
    from faults.proxy.installed import InstalledFault
    from faults.proxy.loop_thread import LoopThread


@final
class RequestPipeline:
    """The pipeline of one proxy. It runs in the proxy's loop; other threads only replace `faults` as a whole."""

    def __init__(
        self, upstream: Upstream, log: "CallLog", board: "ProxyEventLog", loop_thread: "LoopThread"
    ) -> None:
        self.faults: tuple[InstalledFault, ...] = ()
        self.log = log
        self.spawn = loop_thread.spawn
        self._upstream = upstream
        self._board = board
        self._iterators = ShardIterators()

    async def run(self, message: "Message") -> Reply:
        """Return the reply for the client."""
        request = Request(message, self._iterators)
        call = self.log.open(request)
        return await self.finish(self.go(request, call, self.faults), call)

    async def finish(self, reply: Awaitable[Reply], call: "Call") -> Reply:
        """Wait for the reply, and mark the call as done."""
        try:
            return await reply
        except DroppedError:
            return nothing(reset=True)
        finally:
            with self._board:
                call.is_done = True

    async def go(self, request: Request, call: "Call", faults: "tuple[InstalledFault, ...]") -> Reply:
        for place, installed in enumerate(faults, 1):
            if installed.catches(request):
                with self._board:
                    call.faults += (installed.fault,)
                exchange = Exchange(request, call, installed.hits, installed, self, faults[place:])
                return await installed.fault.apply(exchange)
        return await self._ask(request, call)

    async def _ask(self, request: Request, call: "Call") -> Reply:
        with self._board:
            call.applied = None
        try:
            answer = await self._upstream.ask(request.message)
        except UpstreamGoneError:
            return nothing(reset=False)
        with self._board:
            call.status = answer.status
            call.applied = 200 <= answer.status < 300
        if request.operation in ITERATOR_OPERATIONS:
            self._iterators.learn(request, answer)
        closes = request.message.asks_to_close or answer.asks_to_close
        return Reply(answer, End.CLOSE if closes else End.KEEP)
