/** Encode requests; decode answers and pushes. Unknown pushes and fields are ignored, as the protocol requires. */
import {
  type Answers,
  type ErrorBody,
  PUSH_STRUCTS,
  type Pushes,
  type Requests,
  SHAPES,
} from "./frames.gen.ts";

export type RequestKind = keyof Requests;
export type PushKind = keyof Pushes;

/** A push with its kind. */
export type Push = { [K in PushKind]: { readonly kind: K; readonly body: Pushes[K] } }[PushKind];

/** The answer to a request: its result or an error. */
export type Answer<T> =
  | { readonly ok: T; readonly error?: undefined }
  | { readonly ok?: undefined; readonly error: ErrorBody };
export type AnswerTo<K extends RequestKind> = Answer<Answers[K]>;

/** An answer whose struct is known only from its request. */
export interface RawAnswer {
  readonly id: number;
  readonly ok?: unknown;
  readonly error?: unknown;
}

type Fields = Record<string, unknown>;
const TYPES: Readonly<Record<string, string>> = { n: "number", s: "string", b: "boolean", o: "object" };

function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Encode a request with its `id` first, so that the server can answer even a frame that it cannot decode. */
export function encodeRequest<K extends RequestKind>(kind: K, body: Requests[K], id?: number): string {
  return JSON.stringify(id === undefined ? { [kind]: body } : { id, [kind]: body });
}

/** Check a struct, and fill in its defaults. Throws for other data. */
export function decodeStruct<T>(struct: string, raw: unknown): T {
  if (!isObject(raw)) throw new Error(`${struct} is invalid.`);
  const [required = "", defaults, nested = {}] = SHAPES[struct] ?? [];
  const fields: Fields = { ...defaults, ...raw };
  for (const each of required.split(" ")) {
    const field = each.slice(1);
    if (field && typeof fields[field] !== TYPES[each.charAt(0)])
      throw new Error(`${struct}.${field} is invalid.`);
  }
  for (const [field, inner] of Object.entries(nested)) {
    const value = fields[field];
    if (Array.isArray(value)) fields[field] = value.map((each) => decodeStruct(inner, each));
    else if (value !== undefined) fields[field] = decodeStruct(inner, value);
  }
  return fields as T;
}

/** Decode an answer or a push. Returns undefined for an unknown push. Throws for other data. */
export function decodeFrame(data: unknown): RawAnswer | Push | undefined {
  const frame: unknown = JSON.parse(String(data));
  if (!isObject(frame)) throw new Error("Not an object.");
  if ("id" in frame) {
    if (!Number.isInteger(frame.id) || !("ok" in frame || "error" in frame))
      throw new Error("Not an answer.");
    return frame as unknown as RawAnswer;
  }
  for (const [kind, body] of Object.entries(frame)) {
    if (Object.hasOwn(PUSH_STRUCTS, kind))
      return { kind, body: decodeStruct(PUSH_STRUCTS[kind] ?? "", body) } as Push;
  }
  return undefined;
}
