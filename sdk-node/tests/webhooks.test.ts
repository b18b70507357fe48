import { createHmac } from "node:crypto";
import { describe, expect, test } from "vitest";
import { WebhookRejected, WebhookVerifier } from "../src/index.ts";

const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const OTHER = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";
const NOW_S = 1614265330;
const BODY = JSON.stringify({ id: "evt_1", type: "test", data: { text: "grün" } });
const clock = { now: () => NOW_S * 1000 };

function sign(secret: string, id: string, at: number, body: string): string {
  const key = Buffer.from(secret.slice("whsec_".length), "base64");
  return `v1,${createHmac("sha256", key).update(`${id}.${at}.${body}`).digest("base64")}`;
}

function signed(secret = SECRET, at = NOW_S, body = BODY): Record<string, string> {
  return {
    "webhook-id": "evt_1",
    "webhook-timestamp": String(at),
    "webhook-signature": sign(secret, "evt_1", at, body),
  };
}

/** The example of the specification and of the reference libraries. */
const OFFICIAL = {
  "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
  "webhook-timestamp": "1614265330",
  "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
};

describe("a webhook", () => {
  test("of the official example is accepted", () => {
    expect(new WebhookVerifier(SECRET, clock).verify(OFFICIAL, '{"test": 2432232314}')).toEqual({
      test: 2432232314,
    });
  });

  test("is accepted with headers in any case, as Headers, and with a body in bytes", () => {
    const verifier = new WebhookVerifier(SECRET, clock);
    const title = Object.fromEntries(
      Object.entries(signed()).map(([name, value]) => [name.toUpperCase(), value]),
    );
    expect(verifier.verify(title, BODY).id).toBe("evt_1");
    expect(verifier.verify(new Headers(signed()), new TextEncoder().encode(BODY)).data).toEqual({
      text: "grün",
    });
  });

  test("is accepted with either secret during a rotation", () => {
    const both = signed();
    both["webhook-signature"] += ` ${sign(OTHER, "evt_1", NOW_S, BODY)}`;
    for (const secrets of [SECRET, OTHER, [OTHER, SECRET]]) {
      expect(new WebhookVerifier(secrets, clock).verify(both, BODY).type).toBe("test");
    }
  });

  test.each([
    ["another body", signed(), `${BODY} `],
    ["another id", { ...signed(), "webhook-id": "evt_2" }, BODY],
    ["another time", { ...signed(), "webhook-timestamp": String(NOW_S + 1) }, BODY],
    ["another secret", signed(OTHER), BODY],
    ["an old request", signed(SECRET, NOW_S - 301), BODY],
    ["a request of the future", signed(SECRET, NOW_S + 301), BODY],
    ["no signature", { ...signed(), "webhook-signature": "" }, BODY],
    [
      "an unknown version",
      { ...signed(), "webhook-signature": `v2,${signed()["webhook-signature"]?.slice(3)}` },
      BODY,
    ],
    ["not base64", { ...signed(), "webhook-signature": "v1,???" }, BODY],
    ["no id", { ...signed(), "webhook-id": undefined }, BODY],
    ["a time that is no number", { ...signed(), "webhook-timestamp": "now" }, BODY],
    ["a body that is no event", signed(SECRET, NOW_S, "[]"), "[]"],
    ["a body that is not JSON", signed(SECRET, NOW_S, "x"), "x"],
  ])("is refused: %s", (_, headers, body) => {
    expect(() => new WebhookVerifier(SECRET, clock).verify(headers, body)).toThrow(WebhookRejected);
  });

  test("needs a valid secret", () => {
    expect(() => new WebhookVerifier([])).toThrow(TypeError);
    expect(() => new WebhookVerifier("whsec_?")).toThrow(TypeError);
  });
});
