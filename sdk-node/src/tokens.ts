import { createPrivateKey, type JsonWebKeyInput, type KeyObject, sign } from "node:crypto";

/** A private key of a tenant, as `tidings tenant key new` prints it. */
export interface PrivateJwk {
  kid: string;
  kty: string;
  crv: string;
  x: string;
  d: string;
  y?: string;
}

/** The key of a `TokenSigner`, and the claims that all of its tokens have. */
export interface TokenSignerOptions {
  /** The id of the tenant. */
  tenant: string;
  /** The private key of the tenant: an Ed25519 or P-256 key with `kid` and `d`. */
  key: PrivateJwk;
  /** One of the tenant's audiences. Default: `tidings`. */
  audience?: string;
  /** Required if the tenant has an issuer. */
  issuer?: string;
  /** How long a token is valid. Default: 3600. The server's default maximum is one day. */
  lifetimeS?: number;
}

/** Claims of one token. */
export interface TokenClaims {
  /** Your id of the device, with the same rule as a user id. */
  device?: string;
  /** How long this token is valid, instead of the signer's `lifetimeS`. */
  lifetimeS?: number;
}

const USER_ID = /^[!"$-)+-.0-~]{1,64}$/;

/**
 * Sign tokens for the users of a tenant.
 *
 * Signing needs no network. Sign a token only after you have authenticated the user: a client with the token acts as
 * that user.
 */
export class TokenSigner {
  readonly #options: TokenSignerOptions;
  readonly #key: KeyObject;
  readonly #header: string;

  /** Throws a `TypeError` if the key is neither Ed25519 nor P-256, or not private. */
  constructor(options: TokenSignerOptions) {
    const { key } = options;
    if (!["Ed25519", "P-256"].includes(key.crv) || !key.d || !key.kid) {
      throw new TypeError(
        `The key must be a private Ed25519 or P-256 JWK with "kid" and "d", as \`tidings tenant key new\` prints it; got "crv": ${JSON.stringify(key.crv)}.`,
      );
    }
    this.#options = options;
    // A JWK with other fields, such as `alg` and `use`, is rejected by some versions of Node.
    const { kty, crv, x, y, d } = key;
    this.#key = createPrivateKey({ key: { kty, crv, x, y, d }, format: "jwk" } as JsonWebKeyInput);
    this.#header = encode({ alg: crv === "P-256" ? "ES256" : "EdDSA", kid: key.kid, typ: "JWT" });
  }

  /** Return a token for a user. Throws a `TypeError` if the id is not a valid user id. */
  sign(user: string, claims: TokenClaims = {}): string {
    requireUserId("user", user);
    if (claims.device !== undefined) requireUserId("device", claims.device);
    const { tenant, audience = "tidings", issuer, lifetimeS = 3600 } = this.#options;
    const issuedAt = Math.floor(Date.now() / 1000);
    const payload = encode({
      tenant,
      sub: user,
      aud: audience,
      iat: issuedAt,
      exp: issuedAt + (claims.lifetimeS ?? lifetimeS),
      iss: issuer,
      device: claims.device,
    });
    return `${this.#header}.${payload}.${this.#signature(`${this.#header}.${payload}`)}`;
  }

  #signature(text: string): string {
    const data = Buffer.from(text);
    const isEd25519 = this.#key.asymmetricKeyType === "ed25519";
    const signature = isEd25519
      ? sign(null, data, this.#key)
      : sign("sha256", data, { key: this.#key, dsaEncoding: "ieee-p1363" });
    return signature.toString("base64url");
  }
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}

function requireUserId(field: string, id: string): void {
  if (!USER_ID.test(id) || id === "." || id === "..") {
    throw new TypeError(
      `Invalid ${field} ${JSON.stringify(id)}: 1 to 64 printable ASCII characters without spaces, "#", "*" and "/", and not "." or "..".`,
    );
  }
}
