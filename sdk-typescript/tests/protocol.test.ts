/** The client's frames agree with `protocol/`: with the golden frames, and with the schema otherwise. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { decideReconnect } from "../src/close_codes.ts";
import { decodeFrame, decodeStruct, encodeRequest, type Push, type RawAnswer } from "../src/codec.ts";
import { ANSWER_STRUCTS, PUSH_STRUCTS } from "../src/frames.gen.ts";
import type { Frame } from "./scripted_server.ts";

const read = (path: string) =>
  JSON.parse(readFileSync(new URL(`../../protocol/${path}`, import.meta.url), "utf8"));
const schema = read("frames.schema.json");
const golden = (file: string): [string, Frame][] =>
  read(`golden/${file}.json`).map((one: Frame) => [one.name, one]);

/** Remove nulls: this SDK has no null. */
function withoutNull(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNull);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, each]) => (each === null ? [] : [[name, withoutNull(each)]])),
  );
}

test.each(golden("requests").filter(([name]) => name !== "connect_from_the_future"))(
  "request %s is encoded as an equivalent frame",
  (_, one) => {
    const { kind } = one.decoded;
    const id = one.decoded.id ?? undefined;
    const struct =
      schema.$defs[
        schema.$defs[schema.requests[kind].split("/").at(-1)].properties[kind].$ref.split("/").at(-1)
      ];
    const isDefault = (name: string, value: unknown) =>
      JSON.stringify(struct.properties[name]?.default) === JSON.stringify(value);
    const body = Object.fromEntries(
      Object.entries(one.decoded.body).filter(([name, value]) => !isDefault(name, value)),
    );
    expect(JSON.parse(encodeRequest(kind, body as never, id))).toEqual(JSON.parse(one.text));
    if (id !== undefined)
      expect(encodeRequest(kind, body as never, id).startsWith(`{"id":${id},`)).toBe(true);
  },
);

test.each(golden("answers"))("answer %s is decoded completely", (_, one) => {
  const { id, kind, answers = "ping", body } = one.decoded;
  const raw = decodeFrame(one.text) as RawAnswer;
  expect(raw.id).toBe(id);
  const struct = kind === "error" ? "ErrorBody" : (ANSWER_STRUCTS[answers] ?? "");
  expect(decodeStruct(struct, kind === "error" ? raw.error : raw.ok)).toEqual(withoutNull(body));
});

test.each(golden("pushes").filter(([name]) => name !== "push_from_the_future"))(
  "push %s is decoded completely",
  (_, one) => {
    const push = decodeFrame(one.text) as Push;
    expect(push.kind).toBe(one.decoded.kind);
    expect(push.body).toEqual(withoutNull(one.decoded.body));
  },
);

test("a push of an unknown type is ignored", () => {
  expect(decodeFrame('{"weather":{"is":"fine"}}')).toBeUndefined();
  expect(decodeFrame('{"constructor":{}}')).toBeUndefined();
  for (const [name, one] of golden("pushes"))
    if (name === "push_from_the_future") expect(decodeFrame(one.text)).toBeUndefined();
});

test("every request and push is known", () => {
  expect(Object.keys(schema.requests)).toEqual(expect.arrayContaining(Object.keys(ANSWER_STRUCTS)));
  expect(Object.keys(PUSH_STRUCTS)).toEqual(Object.keys(schema.pushes));
});

test("close codes are understood by their ranges", () => {
  for (const { code, range } of read("close_codes.json").codes)
    expect(decideReconnect(code, "").isTerminal).toBe(range === "terminal");
});

test("the codes that this client knows by name are published", () => {
  const codes = read("error_codes.json").map(({ code }: Frame) => code);
  expect(codes).toEqual(
    expect.arrayContaining([
      "position_too_old",
      "internal",
      "credential_invalid",
      "credential_expired",
      "not_a_member",
    ]),
  );
});

test("the generated files are current", () => {
  execFileSync(process.execPath, ["scripts/generate_frames.mjs", "--check"], {
    cwd: new URL("..", import.meta.url),
    stdio: "pipe",
  });
});
