import { randomUUID } from "node:crypto";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, inject, test } from "vitest";
import { Installation } from "../../browser-tests/stack/installation.ts";
import { ServerClient, TidingsError } from "../src/index.ts";

const { api, chats, server_key } = Installation.at(inject("installation")).client;
const tidings = new ServerClient({ url: api, apiKey: server_key });
const path = { chat: chats.group };

async function textsOf(user: string): Promise<string[]> {
  const page = await tidings.call("list_messages", { path, query: { limit: 100 }, user });
  return page.entries.map(({ text }) => text ?? "");
}

async function failure(call: Promise<unknown>): Promise<TidingsError> {
  const error = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(TidingsError);
  return error as TidingsError;
}

describe("against a running installation", () => {
  test("sends a message as a user, who reads it", async () => {
    const text = `from Node ${randomUUID()}`;
    const sent = await tidings.call("send_message", { path, user: "anna", body: { text } });
    expect(sent.sequence).toBeGreaterThan(0);
    expect(await textsOf("ben")).toContain(text);
  });

  test("a repeated idempotency key sends once", async () => {
    const text = `once ${randomUUID()}`;
    const request = { path, user: "anna", body: { text }, idempotencyKey: randomUUID() };
    const first = await tidings.call("send_message", request);
    expect(await tidings.call("send_message", request)).toEqual(first);
    expect((await textsOf("anna")).filter((each) => each === text)).toHaveLength(1);
  });

  test("sends a notification and returns an undefined body for 204", async () => {
    const message = { title: `Hello ${randomUUID()}` };
    const sent = await tidings.call("send_notification", {
      path: { inbox: "default" },
      body: { user_ids: ["cleo"], message },
    });
    expect(sent.total).toBe(1);
    expect(await tidings.call("block_user", { path: { user: "ben" }, user: "cleo" })).toBeUndefined();
    expect(await tidings.call("unblock_user", { path: { user: "ben" }, user: "cleo" })).toBeUndefined();
  });

  test("a rejected request throws its code", async () => {
    const error = await failure(tidings.call("get_chat", { path: { chat: "gNONE" }, user: "anna" }));
    expect(error).toMatchObject({ code: "chat_not_found", status: 404, retryable: false });
    expect(error.requestId).toBeTruthy();
  });

  test("invalid fields are listed", async () => {
    const error = await failure(
      tidings.call("list_messages", { path, query: { limit: 100_000 }, user: "anna" }),
    );
    expect(error.code).toBe("request_invalid");
    expect(error.fields.length).toBeGreaterThan(0);
  });

  test("an invalid API key is rejected without a retry", async () => {
    const client = new ServerClient({ url: api, apiKey: "tidings_sk.dev.none.none" });
    expect(await failure(client.call("list_users", { query: { ids: ["anna"] } }))).toMatchObject({
      code: "credential_invalid",
      status: 401,
    });
  });
});

describe("retries", () => {
  const closers: (() => void)[] = [];
  afterEach(() => {
    for (const close of closers.splice(0)) close();
  });

  async function scripted(listener: RequestListener): Promise<ServerClient> {
    const server = createServer(listener).listen(0, "127.0.0.1");
    await new Promise((resolve) => server.once("listening", resolve));
    closers.push(() => server.close());
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    return new ServerClient({ url, apiKey: "key", maxRetries: 2 });
  }

  const busy = { code: "overloaded", detail: "Busy.", status: 503, retryable: true, retry_after_ms: 300 };

  test("a send keeps its idempotency key and waits as long as the server requests", async () => {
    const seen: { key: string | undefined; at: number }[] = [];
    const client = await scripted((request, response) => {
      seen.push({ key: request.headers["idempotency-key"] as string | undefined, at: Date.now() });
      response.statusCode = seen.length === 1 ? 503 : 201;
      response.end(JSON.stringify(seen.length === 1 ? busy : { sequence: 7 }));
    });
    const sent = await client.call("send_message", { path: { chat: "g1" }, body: { text: "hi" } });
    expect(sent.sequence).toBe(7);
    expect(seen).toHaveLength(2);
    expect(seen[0]?.key).toBeTruthy();
    expect(seen[1]?.key).toBe(seen[0]?.key);
    expect((seen[1]?.at ?? 0) - (seen[0]?.at ?? 0)).toBeGreaterThanOrEqual(290);
  });

  test("the client message id of the body is the idempotency key", async () => {
    const keys: unknown[] = [];
    const client = await scripted((request, response) => {
      keys.push(request.headers["idempotency-key"]);
      response.end("{}");
    });
    await client.call("send_message", {
      path: { chat: "g1" },
      body: { text: "hi", client_message_id: "m1" },
    });
    expect(keys).toEqual(["m1"]);
  });

  test("a POST without an idempotency key is sent once", async () => {
    let requests = 0;
    const client = await scripted((_, response) => {
      requests++;
      response.statusCode = 503;
      response.end(JSON.stringify(busy));
    });
    await failure(client.call("find_user", { body: { phone_number: "+4912345678" } }));
    expect(requests).toBe(1);
  });

  test("gives up after the last retry, and reports a server without an answer", async () => {
    let requests = 0;
    const client = await scripted((request) => {
      requests++;
      request.socket.destroy();
    });
    expect(await failure(client.call("list_users", { query: { ids: ["anna"] } }))).toMatchObject({
      code: "unreachable",
      status: 0,
    });
    expect(requests).toBe(3);
  });

  test("an answer of a proxy has no code", async () => {
    const client = await scripted((_, response) => {
      response.statusCode = 404;
      response.end("<html>not here</html>");
    });
    expect(await failure(client.call("list_users", { query: { ids: ["anna"] } }))).toMatchObject({
      status: 404,
      retryable: false,
    });
  });

  test("an aborted request throws the reason and is not sent again", async () => {
    const controller = new AbortController();
    const client = await scripted(() => controller.abort(new Error("stop")));
    await expect(client.call("list_inboxes", { signal: controller.signal })).rejects.toThrow("stop");
  });
});
