/**
 * SHA-256 of data that arrives in pieces (FIPS 180-4).
 *
 * `crypto.subtle` needs all bytes at once, so a file of some gigabytes would have to fit into memory.
 */
const BLOCK = 64;
const LENGTH_AT = 56;
const ROUNDS = 64;

const CONSTANTS = new Int32Array(ROUNDS);
const INITIAL = new Int32Array(8);

/** The constants are the fractional parts of the cube and square roots of the first primes. */
function fillConstants(): void {
  const fraction = (value: number) => ((value - Math.floor(value)) * 2 ** 32) | 0;
  for (let candidate = 2, found = 0; found < ROUNDS; candidate++) {
    let isPrime = true;
    for (let divisor = 2; divisor * divisor <= candidate; divisor++)
      if (candidate % divisor === 0) isPrime = false;
    if (!isPrime) continue;
    if (found < INITIAL.length) INITIAL[found] = fraction(Math.sqrt(candidate));
    CONSTANTS[found++] = fraction(Math.cbrt(candidate));
  }
}

export class Sha256 {
  readonly #state: Int32Array;
  readonly #schedule = new Int32Array(ROUNDS);
  readonly #rest = new Uint8Array(BLOCK);
  #restLength = 0;
  #length = 0;

  constructor() {
    if (!INITIAL[0]) fillConstants();
    this.#state = INITIAL.slice();
  }

  update(bytes: Uint8Array): void {
    this.#length += bytes.length;
    let at = 0;
    if (this.#restLength) {
      at = Math.min(BLOCK - this.#restLength, bytes.length);
      this.#rest.set(bytes.subarray(0, at), this.#restLength);
      this.#restLength += at;
      if (this.#restLength < BLOCK) return;
      this.#compress(this.#rest, 0);
      this.#restLength = 0;
    }
    for (; at + BLOCK <= bytes.length; at += BLOCK) this.#compress(bytes, at);
    this.#rest.set(bytes.subarray(at));
    this.#restLength = bytes.length - at;
  }

  /** Return the digest in base64. Call it once, after the last `update`. */
  digest(): string {
    const end = new Uint8Array(this.#restLength < LENGTH_AT ? BLOCK : 2 * BLOCK);
    end.set(this.#rest.subarray(0, this.#restLength));
    end[this.#restLength] = 0x80;
    const view = new DataView(end.buffer);
    view.setUint32(end.length - 8, Math.floor(this.#length / 2 ** 29));
    view.setUint32(end.length - 4, (this.#length * 8) >>> 0);
    for (let at = 0; at < end.length; at += BLOCK) this.#compress(end, at);
    const digest = new DataView(new ArrayBuffer(32));
    this.#state.forEach((word, index) => {
      digest.setInt32(index * 4, word);
    });
    return base64(new Uint8Array(digest.buffer));
  }

  #compress(bytes: Uint8Array, at: number): void {
    const w = this.#schedule;
    for (let i = 0; i < 16; i++, at += 4)
      w[i] =
        ((bytes[at] as number) << 24) |
        ((bytes[at + 1] as number) << 16) |
        ((bytes[at + 2] as number) << 8) |
        (bytes[at + 3] as number);
    for (let i = 16; i < ROUNDS; i++) {
      const x = w[i - 15] as number;
      const y = w[i - 2] as number;
      const s0 = ((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3);
      const s1 = ((y >>> 17) | (y << 15)) ^ ((y >>> 19) | (y << 13)) ^ (y >>> 10);
      w[i] = ((w[i - 16] as number) + s0 + (w[i - 7] as number) + s1) | 0;
    }
    this.#rounds(w);
  }

  #rounds(w: Int32Array): void {
    const state = this.#state;
    // Not destructured: that uses an iterator, and took most of the time.
    let a = state[0] as number;
    let b = state[1] as number;
    let c = state[2] as number;
    let d = state[3] as number;
    let e = state[4] as number;
    let f = state[5] as number;
    let g = state[6] as number;
    let h = state[7] as number;
    for (let i = 0; i < ROUNDS; i++) {
      const s1 = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
      const t1 = (h + s1 + ((e & f) ^ (~e & g)) + (CONSTANTS[i] as number) + (w[i] as number)) | 0;
      const s0 = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
      const t2 = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      h = g;
      g = f;
      f = e;
      e = (d + t1) | 0;
      d = c;
      c = b;
      b = a;
      a = (t1 + t2) | 0;
    }
    state[0] = (state[0] as number) + a;
    state[1] = (state[1] as number) + b;
    state[2] = (state[2] as number) + c;
    state[3] = (state[3] as number) + d;
    state[4] = (state[4] as number) + e;
    state[5] = (state[5] as number) + f;
    state[6] = (state[6] as number) + g;
    state[7] = (state[7] as number) + h;
  }
}

/** Return the SHA-256 of some bytes in base64. `crypto.subtle` is faster, and exists in secure contexts only. */
export async function sha256(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  if (globalThis.crypto?.subtle) return base64(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)));
  const hash = new Sha256();
  hash.update(bytes);
  return hash.digest();
}

function base64(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes));
}
