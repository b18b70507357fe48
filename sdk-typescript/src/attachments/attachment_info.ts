/** The description of files by the sender of their message. */

import type { JsonObject } from "../frames.gen.ts";
import type { TimelineItem } from "../types.ts";
import type { AttachmentInfo } from "./upload.ts";

/** A file of a message, as its sender described it. */
export type Attachment = { readonly id: string } & Partial<AttachmentInfo>;

/** Return the files of a message, with what its sender says about them. Apps must not trust it beyond showing it. */
export function attachmentsOf({
  attachments,
  data,
}: Pick<TimelineItem, "attachments" | "data">): Attachment[] {
  const described = asObject(data?.attachments);
  return attachments.map((id) => ({ ...knownFields(asObject(described[id])), id }));
}

const TEXTS = ["name", "type", "alt"] as const;
const NUMBERS = ["size", "width", "height", "duration_ms"] as const;

/** The sender's client may be any program, so fields of other types are dropped. */
function knownFields(info: JsonObject): Partial<AttachmentInfo> {
  const isText = (name: string) => typeof info[name] === "string";
  const isNumber = (name: string) => Number.isFinite(info[name]) && (info[name] as number) > 0;
  const kept = [...TEXTS.filter(isText), ...NUMBERS.filter(isNumber)];
  return Object.fromEntries(kept.map((name) => [name, info[name]]));
}

function asObject(value: unknown): JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : {};
}
