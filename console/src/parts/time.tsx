import type { ReactNode } from "react";

const FULL = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

/** A time in the operator's time zone. Its title has the time in UTC. */
export function Time({ at }: { at: string | null | undefined }): ReactNode {
  if (!at) return null;
  return (
    <time dateTime={at} title={at}>
      {FULL.format(new Date(at))}
    </time>
  );
}
