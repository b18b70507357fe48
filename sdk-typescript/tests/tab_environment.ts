/** Web Locks and BroadcastChannel for several clients in one process, with tabs that crash or freeze. */
import type { TabChannel, TabEnvironment, TabLocks } from "../src/index.ts";

interface Holder {
  readonly tab: FakeTab;
  reject(error: Error): void;
}

interface Waiter {
  readonly tab: FakeTab;
  grant(): void;
}

/** A browser: one lock and one channel for all its tabs. */
export class FakeBrowser {
  holder: Holder | undefined;
  waiters: Waiter[] = [];
  readonly tabs = new Set<FakeTab>();

  newTab(): FakeTab {
    const tab = new FakeTab(this);
    this.tabs.add(tab);
    return tab;
  }

  release(tab: FakeTab): void {
    if (this.holder?.tab === tab) this.holder = undefined;
    const next = this.holder ? undefined : this.waiters.shift();
    next?.grant();
  }
}

/** One tab. Its messages arrive in tasks. A frozen tab keeps its lock, and receives nothing until it thaws. */
export class FakeTab implements TabEnvironment {
  readonly #browser: FakeBrowser;
  readonly #inbox: unknown[] = [];
  #channel: TabChannel | undefined;
  isFrozen = false;
  isDead = false;
  readonly locks: TabLocks;

  constructor(browser: FakeBrowser) {
    this.#browser = browser;
    this.locks = { request: (_name, options, hold) => this.#request(options, hold) };
  }

  channel(): TabChannel {
    const channel: TabChannel = {
      onmessage: null,
      close: () => {
        this.#channel = undefined;
      },
      postMessage: (message) => {
        if (this.isDead || this.isFrozen) return;
        for (const other of this.#browser.tabs) if (other !== this) other.#receive(structuredClone(message));
      },
    };
    this.#channel = channel;
    return channel;
  }

  /** End without a goodbye: the browser releases the lock. */
  crash(): void {
    this.isDead = true;
    this.#browser.tabs.delete(this);
    this.#browser.waiters = this.#browser.waiters.filter(({ tab }) => tab !== this);
    this.#browser.release(this);
  }

  thaw(): void {
    this.isFrozen = false;
    for (const message of this.#inbox.splice(0)) this.#receive(message);
  }

  #receive(message: unknown): void {
    if (this.isFrozen) this.#inbox.push(message);
    else
      setImmediate(() =>
        this.isFrozen
          ? this.#inbox.push(message)
          : this.isDead || this.#channel?.onmessage?.({ data: message }),
      );
  }

  #request(
    { signal, steal }: { signal?: AbortSignal; steal?: boolean },
    hold: () => Promise<void>,
  ): Promise<void> {
    return new Promise((resolve, reject) => {
      const grant = () => {
        const holder: Holder = { tab: this, reject };
        this.#browser.holder = holder;
        setImmediate(() => {
          void hold().then(() => {
            resolve();
            if (this.#browser.holder === holder) this.#browser.release(this);
          });
        });
      };
      const stolen = this.#browser.holder;
      if (steal && stolen) {
        const tell = () =>
          stolen.tab.isFrozen
            ? void setTimeout(tell, 5)
            : stolen.reject(new DOMException("stolen", "AbortError"));
        tell();
      }
      if (steal || !this.#browser.holder) return grant();
      const waiter = { tab: this, grant };
      this.#browser.waiters.push(waiter);
      signal?.addEventListener("abort", () => {
        this.#browser.waiters = this.#browser.waiters.filter((each) => each !== waiter);
        reject(signal.reason);
      });
    });
  }
}
