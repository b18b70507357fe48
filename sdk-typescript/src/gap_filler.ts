/** Fill gaps: read missed entries of a chat from its log, page by page. */
import { Backoff } from "./backoff.ts";
import { now } from "./clock.ts";
import type { AnswerTo } from "./codec.ts";
import { isTimeout } from "./errors.ts";
import type { GetHistory, HistoryPage } from "./frames.gen.ts";
import type { Positions } from "./positions.ts";

const PAGE = 200;
/** How often history may return nothing new although an entry was pushed. Then the next push tries again. */
const MAX_STALLS = 5;

export interface GapFillerDeps {
  readonly positions: Positions;
  /** Wait for a connection. */
  readonly ready: () => Promise<void>;
  /** Read a page. Rejects with `request_timeout` if the connection is lost. */
  readonly history: (request: GetHistory) => Promise<AnswerTo<"history">>;
  readonly deliver: (chat: string, page: HistoryPage) => void;
  readonly start: (task: Promise<void>) => void;
  readonly sleep: (ms: number) => Promise<void>;
}

export class GapFiller {
  readonly #deps: GapFillerDeps;
  readonly #running = new Set<string>();

  constructor(deps: GapFillerDeps) {
    this.#deps = deps;
  }

  wake(chat: string): void {
    if (this.#running.has(chat) || !this.#deps.positions.isBehind(chat)) return;
    this.#running.add(chat);
    this.#deps.start(this.#run(chat));
  }

  async #run(chat: string): Promise<void> {
    const { positions, sleep } = this.#deps;
    const backoff = new Backoff();
    try {
      for (let stalls = 0; positions.isBehind(chat) && stalls < MAX_STALLS; ) {
        if (await this.#step(chat)) continue;
        stalls++;
        await sleep(backoff.waitMs(now()));
      }
      positions.abandonGap(chat);
    } finally {
      this.#running.delete(chat);
    }
  }

  /** Read one page. Return false if the position did not move although the server answered. */
  async #step(chat: string): Promise<boolean> {
    const { positions, ready, history, deliver } = this.#deps;
    await ready();
    const before = positions.of(chat);
    try {
      const answer = await history({ chat, after: before ?? 0, limit: PAGE });
      // Race: the installation was restored while the page was read. Its sequences belong to other entries.
      if (positions.of(chat) === undefined) return true;
      if (answer.ok) deliver(chat, answer.ok);
      else if (!answer.error.retryable) positions.abandonGap(chat);
    } catch (error) {
      if (isTimeout(error)) return true;
      throw error;
    }
    return positions.of(chat) !== before;
  }
}
