/** Reports, invites and restrictions over REST. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Moderation } from "../src/index.ts";
import { clientOf } from "./clients.ts";
import { ScriptedServer } from "./scripted_server.ts";

let requests: [string, unknown][];
let answers: Record<string, object>;

beforeEach(() => {
  requests = [];
  answers = {};
  vi.stubGlobal("fetch", async (url: string, { method = "GET", body }: RequestInit) => {
    const request = `${method} ${url.replace("http://scripted", "")}`;
    requests.push([request, body ? JSON.parse(String(body)) : undefined]);
    const found = answers[request];
    return found ? Response.json(found) : new Response(null, { status: 204 });
  });
});

afterEach(() => vi.unstubAllGlobals());

const moderation = () => new Moderation(clientOf(new ScriptedServer(), { api: "http://scripted/" }));

test("reports have a reason and a text", async () => {
  await moderation().reportMessage("g1", 7, "spam", "links");
  await moderation().reportUser("b+n", "abuse");
  expect(requests).toEqual([
    ["POST /v1/messages/g1.7/report", { reason: "spam", text: "links" }],
    ["POST /v1/users/b%2Bn/report", { reason: "abuse" }],
  ]);
});

test("restrictions of a chat do not apply to its admins", async () => {
  const chat = { role: "member", is_frozen: true, slow_mode_seconds: 30, is_muted: true };
  answers["GET /v1/chats/g1"] = { ...chat, muted_until: "2099-01-01T00:00:00.000Z" };
  expect(await moderation().restrictions("g1")).toEqual({
    isFrozen: true,
    slowModeS: 30,
    isMuted: true,
    mutedUntil: Date.UTC(2099, 0),
  });
  answers["GET /v1/chats/g1"] = { ...chat, role: "admin" };
  expect(await moderation().restrictions("g1")).toMatchObject({
    isFrozen: false,
    slowModeS: 0,
    isMuted: true,
  });
});

test("groups are joined by link and by invite", async () => {
  const invite = { chat: "g2", invited_by: "ben", created_at: "2026-11-15T02:11:21.957Z" };
  answers["GET /v1/invites?limit=200"] = { invites: [invite] };
  await moderation().join("g1", "token");
  expect(await moderation().invites()).toEqual([invite]);
  await moderation().accept("g2");
  await moderation().decline("g3");
  expect(requests[0]).toEqual(["POST /v1/chats/g1/join", { token: "token" }]);
  expect(requests.slice(2).map(([request]) => request)).toEqual([
    "POST /v1/invites/g2/accept",
    "DELETE /v1/invites/g3",
  ]);
});

test("a client without the address has no moderation", () => {
  expect(() => new Moderation(clientOf(new ScriptedServer()))).toThrow("api");
});
