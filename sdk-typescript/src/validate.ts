/** Refuse texts and names that the server would refuse, before they are stored in the outbox. */
import { sdkError } from "./errors.ts";
import { BOUNDS, PATTERNS } from "./frames.gen.ts";

const LONE_SURROGATE = /\p{Surrogate}/u;

/** Throw `request_invalid` for a body with a text outside the bounds of the protocol. Lengths are code points. */
export function validate(body: object): void {
  for (const [field, value] of Object.entries(body)) {
    const [minimum = 0, maximum = 0, pattern] = BOUNDS[field] ?? [];
    if (!maximum || value === undefined) continue;
    for (const text of [value].flat()) {
      const { length } = [...text];
      if (length < minimum || length > maximum)
        throw sdkError(
          "request_invalid",
          `${field} must have a length from ${minimum} to ${maximum}, not ${length}.`,
        );
      if (LONE_SURROGATE.test(text) || (pattern !== undefined && !PATTERNS[pattern]?.test(text)))
        throw sdkError("request_invalid", `${field} has characters that are not allowed: ${text}`);
    }
  }
}
