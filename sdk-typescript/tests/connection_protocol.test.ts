/** The state machine of a connection, the backoff and the token bucket, without a socket and a clock. */
import { expect, test } from "vitest";
import { Backoff } from "../src/backoff.ts";
import { ConnectionProtocol, type Effect } from "../src/connection_protocol.ts";
import { TokenBucket } from "../src/token_bucket.ts";
import type { Frame } from "./scripted_server.ts";

const WELCOME = JSON.stringify({
  id: 1,
  ok: {
    protocol: 1,
    user: "anna",
    device: "d",
    epoch: 3,
    at: 1,
    heartbeat_s: 25,
    limits: { frame_bytes: 65536, in_flight: 32, frames_per_s: 50, burst: 100 },
  },
});
const HELLO = { credential: "secret", device: "d", sdk: "sdk", epoch: 3 };

function written(effects: Effect[]): Frame {
  const [effect] = effects;
  if (effects.length !== 1 || effect?.type !== "write")
    throw new Error(`expected one write: ${JSON.stringify(effects)}`);
  return JSON.parse(effect.data);
}

function opened(positions: [string, number][] = []): [ConnectionProtocol, Frame] {
  const connection = new ConnectionProtocol(() => positions, 0);
  return [connection, written(connection.opened(HELLO))];
}

function live(): ConnectionProtocol {
  const [connection] = opened();
  connection.received(WELCOME, 1_000);
  connection.received('{"resumed":{"epoch":3}}', 1_000);
  expect(connection.state).toBe("live");
  return connection;
}

test("a connection authenticates and becomes live", () => {
  const [connection, hello] = opened([["g1", 4]]);
  expect(hello).toEqual({
    id: 1,
    connect: { credential: "secret", protocol: 1, device: "d", sdk: "sdk", epoch: 3, positions: { g1: 4 } },
  });
  expect(connection.state).toBe("authenticating");
  expect(connection.received(WELCOME, 1_000)).toMatchObject([
    { type: "authenticated", welcome: { user: "anna" } },
  ]);
  expect(connection.isLetIn).toBe(true);
  expect(connection.received('{"resumed":{"epoch":3}}', 1_000)).toEqual([{ type: "live" }]);
});

test("without positions no epoch is sent", () => {
  expect(opened()[1].connect).toEqual({ credential: "secret", protocol: 1, device: "d", sdk: "sdk" });
});

test("many positions are sent in parts", () => {
  const [connection, hello] = opened(Array.from({ length: 2_500 }, (_, n) => [`g${n}`, 1]));
  const bodies = [hello.connect];
  connection.received(WELCOME, 1_000);
  let effects = connection.received('{"resumed":{"epoch":3,"has_more":true}}', 1_000);
  while (effects[0]?.type === "write") {
    const { id, resume } = written(effects);
    bodies.push(resume);
    effects = connection.received(JSON.stringify({ id, ok: { epoch: 3 } }), 1_000);
  }
  expect(effects).toEqual([{ type: "live" }]);
  expect(bodies.map(({ positions, has_more = false }) => [Object.keys(positions).length, has_more])).toEqual([
    [1000, true],
    [1000, true],
    [500, false],
  ]);
});

test("answers are read in the form of their request and only once", () => {
  const connection = live();
  const [id] = connection.ask("history", { chat: "g1" });
  const answer = JSON.stringify({ id, ok: { after: 0, up_to: 0, entries: [] } });
  const page = { after: 0, up_to: 0, entries: [], has_older: false, has_newer: false };
  expect(connection.received(answer, 2_000)).toEqual([{ type: "answered", id, answer: { ok: page } }]);
  expect(connection.received(answer, 2_000)).toEqual([]);
});

test("the answer to a dropped request is ignored", () => {
  const connection = live();
  const [id] = connection.ask("history", { chat: "g1" });
  connection.dropRequest(id);
  expect(connection.received(JSON.stringify({ id, ok: {} }), 2_000)).toEqual([]);
});

test("silence beyond heartbeat and grace abandons the connection", () => {
  const connection = live();
  expect(connection.onTimer(35_900)).toEqual([]);
  expect(written(connection.received('{"ping":{}}', 30_000))).toEqual({ pong: {} });
  expect(connection.onTimer(64_900)).toEqual([]);
  expect(connection.onTimer(65_000)).toMatchObject([{ type: "abandon" }]);
  expect(connection.state).toBe("closed");
});

test("a connect without an answer in time is abandoned", () => {
  expect(opened()[0].onTimer(10_000)).toMatchObject([{ type: "abandon" }]);
});

test.each([
  "",
  "[]",
  "{",
  '{"id":"x","ok":{}}',
  '{"entry":{"chat":1}}',
  '{"id":1}',
  '{"id":1,"ok":[]}',
  '{"chats":{"rows":[1]}}',
])("the invalid frame %s ends the connection without throwing", (frame) => {
  const [connection] = opened();
  expect(connection.received(frame, 1_000)).toMatchObject([{ type: "abandon" }]);
  expect(connection.received(WELCOME, 1_000)).toEqual([]);
});

test("pushes and refusals become effects", () => {
  const connection = live();
  expect(connection.received('{"typing":{"chat":"g1","user":"ben"}}', 2_000)).toEqual([
    { type: "pushed", push: { kind: "typing", body: { chat: "g1", user: "ben", is_typing: true } } },
  ]);
  expect(connection.received('{"reconnect":{"retry_after_ms":1,"spread_ms":2,"reason":"x"}}', 2_000)).toEqual(
    [{ type: "reconnectRequested", retryAfterMs: 1, spreadMs: 2 }],
  );
  expect(connection.state).toBe("draining");
  const [refused] = opened();
  expect(refused.received('{"id":1,"error":{"code":"forbidden","message":"no"}}', 1_000)).toMatchObject([
    { type: "connectRefused" },
  ]);
});

test("a pushed resume sends the current positions", () => {
  const held = new Map([["g1", 1]]);
  const connection = new ConnectionProtocol(() => held, 0);
  connection.opened(HELLO);
  connection.received(WELCOME, 1_000);
  connection.received('{"resumed":{"epoch":3}}', 1_000);
  held.set("g1", 7);
  expect(written(connection.received('{"resume":{}}', 2_000))).toEqual({
    id: 2,
    resume: { positions: { g1: 7 }, epoch: 3 },
  });
});

test("a failed resume abandons the connection", () => {
  const connection = live();
  const { id } = written(connection.received('{"resume":{}}', 2_000));
  expect(
    connection.received(JSON.stringify({ id, error: { code: "internal", message: "" } }), 2_000),
  ).toMatchObject([{ type: "abandon" }]);
});

test("the backoff doubles up to its bound and resets after a live minute", () => {
  const backoff = new Backoff(() => 1);
  expect(Array.from({ length: 7 }, () => backoff.waitMs(0))).toEqual(
    [1, 2, 4, 8, 16, 30, 30].map((s) => s * 1000),
  );
  backoff.isLive(100_000);
  expect(backoff.waitMs(159_000)).toBe(30_000);
  backoff.isLive(200_000);
  expect(backoff.waitMs(260_000)).toBe(1_000);
  expect(backoff.waitMs(261_000, 1374)).toBe(1374);
});

test("the token bucket leaves room for heartbeats", () => {
  const bucket = new TokenBucket(50, 100, 0);
  expect(Array.from({ length: 200 }, () => bucket.take(0)).filter((waitMs) => waitMs === 0)).toHaveLength(80);
  expect(bucket.take(0)).toBeCloseTo(25);
  expect(bucket.take(1_000)).toBe(0);
});
