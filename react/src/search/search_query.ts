import type { SearchQuery } from "@tidings/client";
import { useEffect, useMemo, useState } from "react";

/** A search costs as much as several requests, so it starts when the user stops typing. */
const TYPING_MS = 350;
const LAST_TWO = /[\p{L}\p{N}]{2}$/u;
/** In these scripts the index has single characters, and a prefix has at least two. */
const WITHOUT_SPACES =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Myanmar}\p{Script=Khmer}]/u;

/** The entered text and the chosen filters. Days are `2026-11-18` in the user's time zone, and both are included. */
export interface SearchFields {
  readonly text: string;
  readonly chat: string;
  readonly from: string;
  readonly firstDay: string;
  readonly lastDay: string;
  readonly hasAttachment: boolean;
}

export const NO_FIELDS: SearchFields = {
  text: "",
  chat: "",
  from: "",
  firstDay: "",
  lastDay: "",
  hasAttachment: false,
};

/** Return the query of what the user has entered, or `undefined` if it has neither words nor attachments. */
export function queryOf(fields: SearchFields): SearchQuery | undefined {
  const { chat, from, firstDay, lastDay, hasAttachment } = fields;
  const text = fields.text.trim();
  if (!/[\p{L}\p{N}]/u.test(text) && !hasAttachment) return undefined;
  return {
    text: withPrefix(text),
    ...(chat && { chat }),
    ...(from && { from }),
    ...(firstDay && { after: startOf(firstDay, 0) }),
    ...(lastDay && { before: startOf(lastDay, 1) }),
    ...(hasAttachment && { hasAttachment }),
  };
}

/** Make the last word a prefix: the user may not have finished it. */
export function withPrefix(text: string): string {
  const end = LAST_TWO.exec(text)?.[0];
  return end && !WITHOUT_SPACES.test(end) ? `${text}*` : text;
}

function startOf(day: string, addDays: number): Date {
  const [year = 0, month = 1, date = 1] = day.split("-").map(Number);
  return new Date(year, month - 1, date + addDays);
}

/** Return the query of the fields, after the user has stopped changing them. The same object until they change. */
export function useSettledQuery(fields: SearchFields): SearchQuery | undefined {
  const [settled, setSettled] = useState(fields);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(fields), TYPING_MS);
    return () => clearTimeout(timer);
  }, [fields]);
  return useMemo(() => queryOf(settled), [settled]);
}

/** Return whether a filter is set, besides the words. */
export function isFiltered({ text: _, ...filters }: SearchFields): boolean {
  return Object.values(filters).some(Boolean);
}
