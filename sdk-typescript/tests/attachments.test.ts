/** Uploads continue after a pause, a failure and a reload; links are reused until they expire. */
import { createHash, randomBytes } from "node:crypto";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Sha256 } from "../src/attachments/sha256.ts";
import { Attachments, attachmentsOf, MemoryUploadStore, type Upload } from "../src/index.ts";
import { clientOf, live, until } from "./clients.ts";
import { PART_BYTES, problem, ScriptedBucket } from "./scripted_bucket.ts";
import { ScriptedServer } from "./scripted_server.ts";

let bucket: ScriptedBucket;
let store: MemoryUploadStore;

beforeEach(() => {
  bucket = new ScriptedBucket();
  store = new MemoryUploadStore();
  // The backoff waits a random part of its bound.
  vi.spyOn(Math, "random").mockReturnValue(0.001);
});

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

/** A page: its uploads end with it, and its store stays. */
function newPage(token: string | (() => string) = "anna"): Attachments {
  return new Attachments(clientOf(new ScriptedServer(), { api: "http://scripted/", token }), store);
}

const fileOf = (size: number, name = "plan.pdf") =>
  new File([new Uint8Array(randomBytes(size))], name, { type: "application/pdf", lastModified: 1_000 });

const stateOf = (upload: Upload) => upload.progress.get().state;

/** Hold the PUT requests of all parts from `number` on, as a slow network does. */
function holdFrom(number: number): void {
  bucket.intercept = (request) => {
    const part = /^PUT \/bucket\/\w+\/(\d+)/.exec(request)?.[1];
    return part && Number(part) >= number ? new Promise(() => undefined) : undefined;
  };
}

test("the checksum does not depend on the pieces", () => {
  for (const size of [0, 1, 55, 56, 63, 64, 65, 119, 120, 100_003]) {
    const bytes = randomBytes(size);
    const hash = new Sha256();
    for (let at = 0; at < size; ) {
      const piece = bytes.subarray(at, at + 1 + ((at * 7) % 200));
      hash.update(piece);
      at += piece.length;
    }
    expect(hash.digest(), `${size} bytes`).toBe(createHash("sha256").update(bytes).digest("base64"));
  }
});

test("a small file is sent in one piece, a large one in parts", async () => {
  const page = newPage();
  const small = page.upload("g1", fileOf(5));
  const large = page.upload("g1", fileOf(4 * PART_BYTES + 1));
  await Promise.all([small.done, large.done]);
  expect([...bucket.uploads.values()].map(({ state }) => state)).toEqual(["uploaded", "uploaded"]);
  expect(bucket.sentParts.sort()).toEqual([1, 2, 3, 4, 5]);
  expect(large.progress.get()).toEqual({ state: "uploaded", sentBytes: 4 * PART_BYTES + 1 });
});

test("after a reload, the same file continues with the missing parts", async () => {
  const file = fileOf(4 * PART_BYTES);
  holdFrom(3);
  const first = newPage().upload("g1", file);
  await until(() => first.progress.get().sentBytes === 2 * PART_BYTES);
  first.pause();
  bucket.intercept = () => undefined;
  bucket.requests.length = 0;

  const page = newPage();
  expect(await page.unfinished("g1")).toMatchObject([{ id: "u1", name: "plan.pdf" }]);
  const second = page.upload("g1", file);
  expect(await second.done).toBe("u1");
  expect(bucket.sentParts.sort()).toEqual([3, 4]);
  expect(bucket.requests).not.toContain("POST /v1/uploads");
});

test("another file with the same name, and the same file in another chat, start from the beginning", async () => {
  holdFrom(3);
  const first = newPage().upload("g1", fileOf(4 * PART_BYTES));
  await until(() => first.progress.get().sentBytes === 2 * PART_BYTES);
  first.pause();
  bucket.intercept = () => undefined;
  const page = newPage();
  const others = [page.upload("g1", fileOf(3 * PART_BYTES)), page.upload("g2", fileOf(4 * PART_BYTES))];
  expect(await Promise.all(others.map(({ done }) => done))).toEqual(["u2", "u3"]);
});

test("a file that is chosen twice has two uploads", async () => {
  const file = fileOf(4 * PART_BYTES);
  holdFrom(3);
  const first = newPage().upload("g1", file);
  await until(() => first.progress.get().sentBytes === 2 * PART_BYTES);
  first.pause();
  bucket.intercept = () => undefined;
  const page = newPage();
  const both = [page.upload("g1", file), page.upload("g1", file)];
  expect(new Set(await Promise.all(both.map(({ done }) => done)))).toEqual(new Set(["u1", "u2"]));
});

test("a part that the bucket has without a stored checksum is not sent again", async () => {
  const file = fileOf(3 * PART_BYTES);
  holdFrom(3);
  const first = newPage().upload("g1", file);
  await until(() => first.progress.get().sentBytes === 2 * PART_BYTES);
  first.pause();
  bucket.intercept = () => undefined;
  const [stored] = await store.list();
  if (stored) await store.put({ ...stored, sums: {} });
  bucket.requests.length = 0;
  await newPage().upload("g1", file).done;
  expect(bucket.sentParts).toEqual([3]);
});

test("an upload that the server has deleted starts again", async () => {
  const file = fileOf(3 * PART_BYTES);
  holdFrom(2);
  const first = newPage().upload("g1", file);
  await until(() => first.progress.get().sentBytes === PART_BYTES);
  first.pause();
  bucket.intercept = () => undefined;
  bucket.uploads.clear();
  bucket.requests.length = 0;
  await newPage().upload("g1", file).done;
  expect(bucket.sentParts.sort()).toEqual([1, 2, 3]);
});

test("a paused upload sends nothing, and continues with the missing parts", async () => {
  holdFrom(3);
  const upload = newPage().upload("g1", fileOf(4 * PART_BYTES));
  await until(() => upload.progress.get().sentBytes === 2 * PART_BYTES);
  upload.pause();
  expect(upload.progress.get()).toEqual({ state: "paused", sentBytes: 2 * PART_BYTES });
  bucket.intercept = () => undefined;
  bucket.requests.length = 0;
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(bucket.requests).toEqual([]);
  upload.resume();
  await upload.done;
  expect(bucket.sentParts.sort()).toEqual([3, 4]);
});

test("a part is retried after an error of the network or the bucket", async () => {
  const failures = [() => new Response("", { status: 503 }), () => Promise.reject(new TypeError("network"))];
  bucket.intercept = (request) => (request.includes("/bucket/u1/2") ? failures.shift()?.() : undefined);
  await newPage().upload("g1", fileOf(3 * PART_BYTES)).done;
  expect(bucket.sentParts.filter((part) => part === 2)).toHaveLength(3);
  // Each try has its own signature.
  expect(bucket.requests.filter((each) => each.endsWith("/parts"))).toHaveLength(5);
});

test("an upload without an answer fails, and can be resumed", async () => {
  bucket.intercept = (request) => (request.startsWith("PUT") ? new Response("", { status: 500 }) : undefined);
  const upload = newPage().upload("g1", fileOf(3 * PART_BYTES));
  await expect(upload.done).rejects.toMatchObject({ code: "request_timeout" });
  expect(stateOf(upload)).toBe("failed");
  bucket.intercept = () => undefined;
  upload.resume();
  expect(await upload.done).toBe("u1");
});

test("bytes that the bucket refuses are not retried", async () => {
  bucket.intercept = (request) =>
    request.startsWith("PUT") ? new Response("<Code>BadDigest</Code>", { status: 400 }) : undefined;
  const upload = newPage().upload("g1", fileOf(5));
  await expect(upload.done).rejects.toThrow("400 BadDigest");
  expect(bucket.requests.filter((each) => each.startsWith("PUT"))).toHaveLength(1);
});

test("a cancelled upload is deleted from the bucket and the store", async () => {
  holdFrom(2);
  const page = newPage();
  const upload = page.upload("g1", fileOf(3 * PART_BYTES));
  await until(() => upload.progress.get().sentBytes === PART_BYTES);
  await page.cancel(upload);
  await expect(upload.done).rejects.toMatchObject({ code: "upload_failed" });
  expect(bucket.uploads.size).toBe(0);
  expect(await store.list()).toEqual([]);
});

test("a limit of the tenant is reported with its code", async () => {
  bucket.intercept = () => problem(413, "upload_too_large");
  await expect(newPage().upload("g1", fileOf(5)).done).rejects.toMatchObject({ code: "upload_too_large" });
});

test("an expired token is renewed once", async () => {
  let count = 0;
  const answers = [() => problem(401, "credential_expired")];
  bucket.intercept = (request) => (request.includes("/v1/") ? answers.shift()?.() : undefined);
  await newPage(() => `token ${++count}`).upload("g1", fileOf(5)).done;
  const [expired, ...renewed] = bucket.tokens;
  expect(new Set(renewed).size).toBe(1);
  expect(renewed).not.toContain(expired);
});

test("a message refers to its uploads and describes them", async () => {
  const server = new ScriptedServer();
  const client = clientOf(server, { api: "http://scripted" });
  await live(client);
  const page = new Attachments(client, store);
  const upload = page.upload("g1", fileOf(3 * PART_BYTES, "beach.jpg"), { type: "Image/JPEG; q=1" });
  await upload.done;
  upload.describe({ alt: "Two people on a beach", width: 40, height: 30 });
  const { key, stored } = page.send(client.chat("g1"), "", [upload], { data: { topic: "holiday" } });
  await stored;
  const info = { name: "beach.jpg", size: 24, type: "image/jpeg", width: 40, height: 30 };
  await until(() => server.tries("send").length);
  expect(server.tries("send")[0]).toMatchObject({
    attachments: ["u1"],
    data: { topic: "holiday", attachments: { u1: { ...info, alt: "Two people on a beach" } } },
  });
  const item = client.chat("g1").timeline.item(key).get();
  expect(item && attachmentsOf(item)).toEqual([{ id: "u1", ...info, alt: "Two people on a beach" }]);
  expect(await store.list()).toEqual([]);
});

test("fields of the wrong type in a description are dropped", () => {
  const data = { attachments: { u1: { name: 7, width: -1, height: "4", alt: "A dog", extra: 1 }, u2: [] } };
  expect(attachmentsOf({ attachments: ["u1", "u2"], data })).toEqual([
    { id: "u1", alt: "A dog" },
    { id: "u2" },
  ]);
});

test("a link is requested once until it expires soon", async () => {
  const page = newPage();
  const [a, b] = await Promise.all([page.link("g1", 3, "u"), page.link("g1", 3, "u")]);
  expect(a).toBe(b);
  expect(await page.link("g1", 4, "u")).not.toBe(a);
  expect(bucket.requests).toEqual([
    "GET /v1/messages/g1.3/attachments/u",
    "GET /v1/messages/g1.4/attachments/u",
  ]);
  bucket.expiresAt = () => Date.now() + 10_000;
  const soon = await page.link("g1", 5, "u");
  expect(await page.link("g1", 5, "u")).not.toBe(soon);
});

test("a link waits for the media worker, and a failure is not kept", async () => {
  const page = newPage();
  const answers = [
    () => problem(409, "upload_processing", { retry_after_ms: 1 }),
    () => problem(404, "upload_not_found"),
  ];
  bucket.intercept = () => answers.shift()?.();
  await expect(page.link("g1", 3, "u")).rejects.toMatchObject({ code: "upload_not_found" });
  expect((await page.link("g1", 3, "u")).id).toBe("u");
});

test("a preview of a link waits for the media worker", async () => {
  const page = newPage();
  const answers: object[] = [{ state: "loading" }, { state: "ready", url: "https://a.example", title: "A" }];
  bucket.intercept = () => Response.json(answers.shift() ?? { state: "none" });
  expect(await page.linkPreview("g1", 3)).toEqual({ url: "https://a.example", title: "A" });
  expect(await page.linkPreview("g1", 4)).toBeUndefined();
});

test("a tenant without previews of links is not asked again", async () => {
  const page = newPage();
  let asked = 0;
  bucket.intercept = () => {
    asked++;
    return Response.json({ state: "off" });
  };
  for (let sequence = 1; sequence < 4; sequence++)
    expect(await page.linkPreview("g1", sequence)).toBeUndefined();
  expect(asked).toBe(1);
});
