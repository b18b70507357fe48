/** The credential: a fixed string, or a provider that is called for the first one and after one expires. */

export type CredentialProvider = () => string | Promise<string>;

/**
 * Keep the credential across reconnects.
 *
 * When a server stops, all of its devices reconnect; they must not all log in again as well.
 */
export class Credentials {
  readonly #source: string | CredentialProvider;
  #held: string | undefined;
  isFresh = true;

  constructor(source: string | CredentialProvider) {
    this.#source = source;
  }

  async get(): Promise<string> {
    if (typeof this.#source === "string") return this.#source;
    if (this.#held === undefined) {
      this.#held = await this.#source();
      this.isFresh = true;
    }
    return this.#held;
  }

  wasGood(): void {
    this.isFresh = false;
  }

  canRenew(): boolean {
    return typeof this.#source !== "string";
  }

  /** Call the provider at the next `get`. A fixed string stays. */
  renew(): void {
    this.#held = undefined;
  }
}
