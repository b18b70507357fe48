"""Measure the CPU of a push notification, and compare the APNs client with aioapns.

The push services of the tests run in another process and verify signatures and encryption. Only the CPU of the sending
process counts. Rounds of the clients alternate, so that both see the same machine.
"""

import argparse
import asyncio
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import msgspec
import uvloop
from fixtures.apns_server import ApnsServer
from fixtures.http2_server import serve_http2, trusting
from fixtures.push_notes import note, provider, registration
from fixtures.web_push_server import WebPushServer

from bench.report import print_figures, print_table
from tidings.kernel.clock import SystemClock
from tidings.kernel.network_policy import NetworkPolicy
from tidings.platform.guarded_http import open_guarded_session
from tidings.platform.http2.client import Http2Client, Http2Options
from tidings.push.model import ApnsTarget, WebPushTarget
from tidings.push.ports import SendResult, SendVerdict
from tidings.push.provider_config import ApnsConfig, ApnsKey, WebPushConfig
from tidings.push.providers.apns import ApnsSender
from tidings.push.providers.web_push import WebPushSender

CONCURRENT = 100
TOKEN = "ab" * 32
TOPIC = "com.example.chat"

type Send = Callable[[], Awaitable[bool]]


class Services(msgspec.Struct):
    """The first line of the serving process, printed when it is ready."""

    apns: str
    browsers: str
    ca: str
    keys: list[ApnsKey]
    web_push: WebPushConfig
    target: WebPushTarget


async def serve(directory: Path) -> None:
    """Serve both push services until standard input closes."""
    apns, browsers = ApnsServer(topic=TOPIC), WebPushServer()
    async with AsyncExitStack() as stack:
        for server in (apns.http2, browsers.http2):
            await stack.enter_async_context(serve_http2(server, directory))
        joined = directory / "authorities.pem"
        joined.write_text(apns.http2.ca.read_text() + browsers.http2.ca.read_text())
        config = browsers.config()
        ready = Services(
            apns=apns.http2.origin,
            browsers=browsers.http2.origin,
            ca=str(joined),
            # Apple counts the tokens of a key, and each client signs its own.
            keys=[apns.add_key("KEY0000001"), apns.add_key("KEY0000002")],
            web_push=config,
            target=browsers.subscribe(config).target(browsers.http2.origin),
        )
        sys.stdout.write(msgspec.json.encode(ready).decode() + "\n")
        sys.stdout.flush()
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


def is_accepted(result: SendResult) -> bool:
    return result.verdict is SendVerdict.ACCEPTED


async def cpu_us(send: Send, pushes: int) -> float:
    """Return the CPU of one push, with many in flight."""
    began = time.process_time()
    for _ in range(pushes // CONCURRENT):
        if not all(await asyncio.gather(*(send() for _ in range(CONCURRENT)))):
            raise RuntimeError("a push was not accepted")
    return (time.process_time() - began) / (pushes // CONCURRENT * CONCURRENT) * 1e6


def aioapns_send(services: Services) -> Send:
    from aioapns import APNs, NotificationRequest, PushType  # noqa: PLC0415 - only in the group `bench`
    from aioapns.connection import APNsProductionClientProtocol  # noqa: PLC0415 - as above

    host, _, port = services.apns.removeprefix("https://").partition(":")
    APNsProductionClientProtocol.APNS_SERVER = host
    APNsProductionClientProtocol.APNS_PORT = int(port)
    key = services.keys[1]
    client = APNs(
        key=key.private_key,
        key_id=key.key_id,
        team_id=key.team_id,
        topic=TOPIC,
        ssl_context=trusting(Path(services.ca)),
    )

    async def send() -> bool:
        sent = note()
        payload = {
            "aps": {
                "alert": {"title": sent.title, "body": sent.body},
                "badge": sent.badge,
                "sound": "default",
            },
            "tidings": sent.data(),
        }
        request = NotificationRequest(
            device_token=TOKEN, message=payload, collapse_key=sent.collapse_id, push_type=PushType.ALERT
        )
        answer = await client.send_notification(request)
        return bool(answer.is_successful)

    return send


async def measure(services: Services, rounds: int, pushes: int) -> dict[str, list[float]]:
    network, clock, tls = NetworkPolicy.LOCAL, SystemClock(), trusting(Path(services.ca))
    http2 = Http2Client(Http2Options(network=network, timeout_s=30), tls)
    target = registration(ApnsTarget(token=TOKEN, topic=TOPIC))
    apns, config = (
        ApnsSender(http2, clock, {"production": services.apns}),
        ApnsConfig(keys=(services.keys[0],)),
    )
    async with open_guarded_session(
        network, max_connections=1, timeout_s=30, headers={}, keeps_connections=True
    ) as session:
        browser = WebPushSender(http2, session, network, clock)
        subscribed = registration(services.target)

        async def send_apns() -> bool:
            return is_accepted(await apns.send(target, note(), provider(config)))

        async def send_web() -> bool:
            return is_accepted(await browser.send(subscribed, note(), provider(services.web_push)))

        works = {"apns": send_apns, "aioapns": aioapns_send(services), "web_push": send_web}
        for work in works.values():
            await work()  # opens the connection; aioapns fails if the first requests are concurrent
        found: dict[str, list[float]] = {name: [] for name in works}
        for _ in range(rounds):
            for name, work in works.items():
                found[name].append(await cpu_us(work, pushes))
    await http2.close()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--short", action="store_true", help="fewer pushes, for CI")
    parser.add_argument("--serve", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve is not None:
        asyncio.run(serve(given.serve))
        return
    rounds, pushes = (3, 300) if given.short else (7, 2_000)
    with tempfile.TemporaryDirectory() as directory:
        server = subprocess.Popen(  # noqa: S603 - this program
            [sys.executable, "-m", "bench.push", "--serve", directory],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        try:
            line = server.stdout.readline() if server.stdout else b""
            services = msgspec.json.decode(line, type=Services)
            found = uvloop.run(measure(services, rounds, pushes))
        finally:
            server.kill()
            server.wait()
    report(found)


def report(found: dict[str, list[float]]) -> None:
    median = {name: statistics.median(values) for name, values in found.items()}
    print_table(
        ["client", "CPU of a push, µs", "range"],
        [
            [name, f"{median[name]:.0f}", f"{min(values):.0f} to {max(values):.0f}"]
            for name, values in found.items()
        ],
    )
    slowest = max(median["apns"], median["web_push"])
    print_figures(
        {
            "cpu_us_per_push": round(median["web_push"], 1),
            "apns_cpu_us": round(median["apns"], 1),
            "aioapns_cpu_us": round(median["aioapns"], 1),
            "apns_ratio": round(median["apns"] / median["aioapns"], 3),
            "per_s_one_process": round(1e6 / slowest),
        }
    )


if __name__ == "__main__":
    main()
