import type { SearchPage, SearchResult } from "@tidings/client";
import type { FakeClient } from "./fake_client.ts";

const API = "http://search.fake";

/** Answers of the REST API for searches. */
export class FakeSearch {
  /** The parameters of every search. */
  readonly requests: Record<string, string>[] = [];
  answer: (params: Record<string, string>) => SearchPage | Promise<SearchPage> | Response;

  /** Give the client the address of a REST API that answers searches. */
  constructor(client: FakeClient, answer: FakeSearch["answer"]) {
    this.answer = answer;
    Object.assign(client, { options: { api: API, token: "token" } });
    const real = globalThis.fetch;
    globalThis.fetch = async (input, init) => {
      const url = new URL(String(input), location.href);
      if (url.origin !== API) return real(input, init);
      if (url.pathname !== "/v1/search") return Response.json({ code: "chat_not_found" }, { status: 404 });
      const params = Object.fromEntries(url.searchParams);
      this.requests.push(params);
      const answered = await this.answer(params);
      init?.signal?.throwIfAborted();
      return answered instanceof Response ? answered : Response.json(answered);
    };
  }
}

/** A found message. The words between `*` are matches. */
export function foundMessage(chat: string, sequence: number, by: string, text: string): SearchResult {
  const parts = text.split("*").map((part, index) => ({ text: part, is_match: index % 2 === 1 }));
  const message = {
    id: `${chat}.${sequence}`,
    sequence,
    sender: by,
    created_at: new Date(Date.UTC(2026, 10, 16, 14, sequence % 60)).toISOString(),
    text: text.replaceAll("*", ""),
  };
  return { chat, message, highlights: parts.filter((part) => part.text) };
}
