/** The requests of a search, and their errors. */
import { afterEach, expect, test, vi } from "vitest";
import { type ClientOptions, MessageSearch, type SearchPage } from "../src/index.ts";
import { clientOf } from "./clients.ts";
import { problem } from "./scripted_bucket.ts";
import { ScriptedServer } from "./scripted_server.ts";

const PAGE: SearchPage = {
  results: [
    {
      chat: "g1",
      message: {
        id: "g1.7",
        sequence: 7,
        sender: "ben",
        created_at: "2026-11-15T02:11:21.957Z",
        text: "Lunch?",
      },
      highlights: [
        { text: "Lunch", is_match: true },
        { text: "?", is_match: false },
      ],
    },
  ],
  cursor: "next",
};

afterEach(() => vi.unstubAllGlobals());

/** Answer requests with `answer`, and return their paths. */
function scripted(answer: (url: URL) => Response): URL[] {
  const requests: URL[] = [];
  vi.stubGlobal("fetch", async (url: string, { signal }: RequestInit) => {
    signal?.throwIfAborted();
    requests.push(new URL(url));
    return answer(new URL(url));
  });
  return requests;
}

const searchOf = (options: Partial<ClientOptions> = {}) =>
  new MessageSearch(clientOf(new ScriptedServer(), { api: "http://scripted/", ...options }));

test("a query has only the parameters that were given", async () => {
  const requests = scripted(() => Response.json(PAGE));
  const search = searchOf();
  expect(await search.find({ text: "crème & fri*" })).toEqual(PAGE);
  await search.find(
    {
      text: "",
      chat: "g1",
      from: "ben",
      before: new Date("2026-11-18T00:00:00Z"),
      after: new Date("2026-11-17T00:00:00Z"),
      hasAttachment: true,
    },
    { cursor: "next", limit: 5 },
  );
  expect(requests.map(({ pathname }) => pathname)).toEqual(["/v1/search", "/v1/search"]);
  expect(Object.fromEntries(requests[0]?.searchParams ?? [])).toEqual({ q: "crème & fri*" });
  expect(Object.fromEntries(requests[1]?.searchParams ?? [])).toEqual({
    chat: "g1",
    from: "ben",
    before: "2026-11-18T00:00:00.000Z",
    after: "2026-11-17T00:00:00.000Z",
    has: "attachment",
    cursor: "next",
    limit: "5",
  });
});

test("a tenant without search, and an aborted search", async () => {
  scripted(() => problem(403, "search_off"));
  await expect(searchOf().find({ text: "lunch" })).rejects.toMatchObject({ code: "search_off" });
  const signal = AbortSignal.abort();
  await expect(searchOf().find({ text: "lunch" }, { signal })).rejects.toMatchObject({
    code: "request_timeout",
  });
});

test("a client without the address of the REST API has no search", () => {
  expect(() => searchOf({ api: undefined })).toThrow("`api`");
});
