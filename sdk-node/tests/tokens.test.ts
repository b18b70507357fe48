import { generateKeyPairSync, verify } from "node:crypto";
import { describe, expect, inject, test } from "vitest";
import { Installation } from "../../browser-tests/stack/installation.ts";
import { type PrivateJwk, ServerClient, TokenSigner } from "../src/index.ts";

const installation = Installation.at(inject("installation"));
const { api, tenant } = installation.client;

function parts(token: string): [Record<string, unknown>, Record<string, unknown>, Buffer] {
  const [header = "", claims = "", signature = ""] = token.split(".");
  const read = (text: string) => JSON.parse(Buffer.from(text, "base64url").toString());
  return [read(header), read(claims), Buffer.from(signature, "base64url")];
}

function newKey(curve: "Ed25519" | "P-256"): { key: PrivateJwk; publicKey: Parameters<typeof verify>[2] } {
  const pair =
    curve === "Ed25519" ? generateKeyPairSync("ed25519") : generateKeyPairSync("ec", { namedCurve: "P-256" });
  const jwk = pair.privateKey.export({ format: "jwk" }) as unknown as PrivateJwk;
  return { key: { ...jwk, kid: "k1" }, publicKey: pair.publicKey };
}

test("a running installation accepts a signed token", async () => {
  const signer = new TokenSigner({ tenant, key: installation.signingKey });
  const client = new ServerClient({ url: api, apiKey: signer.sign("anna") });
  expect(await client.call("get_me")).toMatchObject({ id: "anna" });
});

test("a token has the claims that the guide lists", () => {
  const signer = new TokenSigner({ tenant: "acme", key: newKey("Ed25519").key, lifetimeS: 60 });
  const [header, claims] = parts(signer.sign("anna", { device: "phone" }));
  const now = Math.floor(Date.now() / 1000);
  expect(header).toEqual({ alg: "EdDSA", kid: "k1", typ: "JWT" });
  expect(claims).toEqual({
    tenant: "acme",
    sub: "anna",
    aud: "tidings",
    iat: claims.iat,
    exp: Number(claims.iat) + 60,
    device: "phone",
  });
  expect(Math.abs(Number(claims.iat) - now)).toBeLessThan(5);
});

test("a P-256 key signs ES256 in the format of JWTs", () => {
  const { key, publicKey } = newKey("P-256");
  const token = new TokenSigner({ tenant: "acme", key, issuer: "https://id.example" }).sign("anna");
  const [header, claims, signature] = parts(token);
  expect(header.alg).toBe("ES256");
  expect(claims.iss).toBe("https://id.example");
  const signed = Buffer.from(token.slice(0, token.lastIndexOf(".")));
  const options = { key: publicKey, dsaEncoding: "ieee-p1363" } as Parameters<typeof verify>[2];
  expect(verify("sha256", signed, options, signature)).toBe(true);
});

describe("invalid input", () => {
  const signer = new TokenSigner({ tenant: "acme", key: newKey("Ed25519").key });

  test.each(["", "with space", "a#b", "a*b", "a/b", ".", "..", "ä", "x".repeat(65)])(
    "rejects the user %j",
    (user) => {
      expect(() => signer.sign(user)).toThrow(TypeError);
    },
  );

  test.each(["a", "a.b", "...", "anna@example.com", "x".repeat(64)])("accepts the user %j", (user) => {
    expect(signer.sign(user)).toContain(".");
  });

  test("rejects a public key and other curves", () => {
    const { d: _, ...publicPart } = newKey("Ed25519").key;
    expect(() => new TokenSigner({ tenant: "acme", key: publicPart as PrivateJwk })).toThrow(/private/);
    const key = { ...newKey("Ed25519").key, crv: "P-384" };
    expect(() => new TokenSigner({ tenant: "acme", key })).toThrow(/P-384/);
  });
});
