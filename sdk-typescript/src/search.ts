/** Search in messages. The server returns only messages that the user may read at that moment. */

import type { JsonObject } from "./frames.gen.ts";
import type { LightClient } from "./light_client.ts";
import { RestApi } from "./rest.ts";

/** What to search for. `text` can be empty if `hasAttachment` is set. */
export interface SearchQuery {
  /** Words that a message must have, in any order. Case and accents do not matter. `lun*` finds words that start with `lun`. */
  readonly text: string;
  /** Only messages in this chat. */
  readonly chat?: string | undefined;
  /** Only messages of this user. */
  readonly from?: string | undefined;
  /** Only messages that were sent before this time. */
  readonly before?: Date | undefined;
  /** Only messages that were sent at this time or later. */
  readonly after?: Date | undefined;
  readonly hasAttachment?: boolean | undefined;
}

/** A message as the REST API describes it. */
export interface FoundMessage {
  readonly id: string;
  readonly sequence: number;
  readonly sender: string;
  /** RFC 3339, UTC. */
  readonly created_at: string;
  readonly text?: string | undefined;
  readonly attachments?: readonly string[] | undefined;
  readonly data?: JsonObject | undefined;
}

/** A part of the text. The parts of a result form an extract around the first match. */
export interface Highlight {
  readonly text: string;
  readonly is_match: boolean;
}

export interface SearchResult {
  readonly chat: string;
  readonly message: FoundMessage;
  readonly highlights: readonly Highlight[];
}

/** Messages that match, newest first. A page can be empty and have a cursor. */
export interface SearchPage {
  readonly results: readonly SearchResult[];
  /** For the next page. Absent on the last one. */
  readonly cursor?: string | undefined;
}

export interface SearchOptions {
  /** The cursor of the page before, with the same query. */
  readonly cursor?: string | undefined;
  /** Default: 20. At most 50. */
  readonly limit?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * The search of a client that has the option `api`.
 *
 * @example
 * ```ts
 * const search = new MessageSearch(client);
 * const { results } = await search.find({ text: "lunch fri*", from: "ben" });
 * for (const { chat, message } of results) await client.chat(chat).timeline.loadAround(message.sequence);
 * ```
 */
export class MessageSearch {
  readonly #rest: RestApi;

  constructor(client: LightClient) {
    this.#rest = new RestApi(client.options);
  }

  /**
   * Return a page of messages. Rejects with `search_off` if the tenant does not use search, and with `request_invalid` if
   * the text has neither letters nor digits.
   */
  find(query: SearchQuery, { cursor, limit, signal }: SearchOptions = {}): Promise<SearchPage> {
    const { text, chat, from, before, after, hasAttachment } = query;
    const given = {
      q: text,
      chat,
      from,
      before: before?.toISOString(),
      after: after?.toISOString(),
      has: hasAttachment ? "attachment" : undefined,
      cursor,
      limit: limit?.toString(),
    };
    const params = Object.entries(given).filter((each): each is [string, string] => Boolean(each[1]));
    return this.#rest.call<SearchPage>("GET", `/v1/search?${new URLSearchParams(params)}`, undefined, signal);
  }
}
