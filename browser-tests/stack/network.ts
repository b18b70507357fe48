/** A TCP relay between one browser and the gateway, so that a test can cut the network of that browser only. */

import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { Transform } from "node:stream";

type State = "open" | "cut" | "silent";

export class NetworkLink {
  readonly #server: Server;
  readonly #pairs = new Set<[Socket, Socket]>();
  readonly #target: URL;
  #state: State = "open";
  /** The number of connections that were opened over this link. */
  opened = 0;
  /** How long each part of what the gateway sends is held back. */
  latencyMs = 0;

  private constructor(target: URL) {
    this.#target = target;
    this.#server = createServer((socket) => this.#accept(socket));
  }

  static async to(url: string): Promise<NetworkLink> {
    const link = new NetworkLink(new URL(url));
    await new Promise<void>((resolve) => link.#server.listen(0, "127.0.0.1", resolve));
    return link;
  }

  /** The address of the gateway through this link. */
  get url(): string {
    const url = new URL(this.#target);
    url.port = String((this.#server.address() as AddressInfo).port);
    return url.href;
  }

  /** The number of connections that are open now. */
  get connections(): number {
    return this.#pairs.size;
  }

  /** Reset all connections and refuse new ones, as a machine without a network does. */
  cut(): void {
    this.#state = "cut";
    this.#closeAll();
  }

  /** Forward no more bytes in either direction, without a reset: a lost mobile network. */
  silence(): void {
    this.#state = "silent";
    for (const pair of this.#pairs) for (const socket of pair) socket.pause();
  }

  /** Accept connections again. Connections that were silent are reset. */
  restore(): void {
    if (this.#state === "silent") this.#closeAll();
    this.#state = "open";
  }

  async close(): Promise<void> {
    this.cut();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #accept(near: Socket): void {
    near.on("error", () => near.destroy());
    if (this.#state === "cut") {
      near.resetAndDestroy();
      return;
    }
    this.opened++;
    const far = connect(Number(this.#target.port), this.#target.hostname);
    const pair: [Socket, Socket] = [near, far];
    this.#pairs.add(pair);
    far.on("error", () => near.destroy());
    for (const [from, to] of [pair, [far, near] as const]) {
      from.on("close", () => {
        to.destroy();
        this.#pairs.delete(pair);
      });
    }
    near.pipe(far);
    const delay = new Transform({
      transform: (part, _encoding, done) => {
        if (this.latencyMs) setTimeout(done, this.latencyMs, null, part);
        else done(null, part);
      },
    });
    far.pipe(delay).pipe(near);
    if (this.#state === "silent") for (const socket of pair) socket.pause();
  }

  #closeAll(): void {
    for (const pair of this.#pairs) for (const socket of pair) socket.destroy();
    this.#pairs.clear();
  }
}
