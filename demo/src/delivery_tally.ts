/** Count the messages of two people, and where each of them is. */

import type { Client } from "@tidings/client";

export interface Tally {
  /** Messages that a person sent since the page was opened. */
  sent: number;
  /** Messages that wait on the sender's device. */
  waiting: number;
  /** Messages that the server has acknowledged. */
  acknowledged: number;
  /** Acknowledged messages that the other person has. */
  arrived: number;
  /** Messages that arrived twice. */
  duplicated: number;
  /** Messages that arrived after a later one of the same chat. */
  misordered: number;
}

export const EMPTY: Tally = {
  sent: 0,
  waiting: 0,
  acknowledged: 0,
  arrived: 0,
  duplicated: 0,
  misordered: 0,
};

export class DeliveryTally {
  readonly #chats: readonly string[];
  readonly #clients: readonly [Client, Client];
  readonly #acknowledged = [new Set<string>(), new Set<string>()] as const;
  readonly #arrived = [new Set<string>(), new Set<string>()] as const;
  readonly #last = [new Map<string, number>(), new Map<string, number>()] as const;
  #duplicated = 0;
  #misordered = 0;

  /** `chats`: the chats of which both are members. */
  constructor(clients: readonly [Client, Client], chats: readonly string[]) {
    this.#clients = clients;
    this.#chats = chats;
  }

  /** Count from now on. Returns a function that ends it. */
  start(): () => void {
    const ends = ([0, 1] as const).flatMap((side) => [
      this.#clients[side].on("sent", ({ chat, sequence }) => {
        if (this.#chats.includes(chat)) this.#acknowledged[side].add(`${chat} ${sequence}`);
      }),
      this.#clients[side].on("message", ({ chat, entry }) => this.#arrive(side, chat, entry.sequence)),
    ]);
    return () => {
      for (const end of ends) end();
    };
  }

  get(): Tally {
    const waiting = this.#clients.reduce((sum, client) => sum + this.#waitingOf(client), 0);
    const acknowledged = this.#acknowledged[0].size + this.#acknowledged[1].size;
    const arrived =
      count(this.#acknowledged[0], this.#arrived[1]) + count(this.#acknowledged[1], this.#arrived[0]);
    return {
      sent: acknowledged + waiting,
      waiting,
      acknowledged,
      arrived,
      duplicated: this.#duplicated,
      misordered: this.#misordered,
    };
  }

  #arrive(side: 0 | 1, chat: string, sequence: number): void {
    const name = `${chat} ${sequence}`;
    if (this.#arrived[side].has(name)) this.#duplicated++;
    if (sequence < (this.#last[side].get(chat) ?? 0)) this.#misordered++;
    this.#arrived[side].add(name);
    this.#last[side].set(chat, sequence);
  }

  #waitingOf(client: Client): number {
    return this.#chats.reduce((sum, chat) => {
      const { timeline } = client.chat(chat);
      const items = timeline.keys.get().map((key) => timeline.item(key).get());
      return sum + items.filter((item) => item?.delivery === "pending" && item.kind === "message").length;
    }, 0);
  }
}

function count(names: ReadonlySet<string>, among: ReadonlySet<string>): number {
  return [...names].filter((name) => among.has(name)).length;
}
