import type { Chat, TimelineItem } from "@tidings/client";
import { type RefObject, useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import type { VirtualizerHandle } from "virtua";
import { useSettings } from "../hooks/client.ts";
import { useObservable } from "../hooks/observable.ts";
import { useUserNames } from "../hooks/user.ts";

const READ_DELAY_MS = 250;
const MAX_ANNOUNCED = 2;

function isFromOthers(item: TimelineItem | undefined): item is TimelineItem {
  return item !== undefined && !item.isOwn && item.kind === "message";
}

/** Return the items after a key, newest first, or `undefined` if the key is not in the list. */
function itemsAfter(
  chat: Chat,
  keys: readonly string[],
  after: string | undefined,
): TimelineItem[] | undefined {
  const items: TimelineItem[] = [];
  for (let index = keys.length - 1; index >= 0; index -= 1) {
    const key = keys[index] as string;
    if (key === after) return items;
    const item = chat.timeline.item(key).get();
    if (item) items.push(item);
  }
  return undefined;
}

/**
 * Return the key of the first message that was unread when the chat was opened. The divider stays there although the
 * messages are read meanwhile.
 */
export function useFirstUnread(chat: Chat, keys: readonly string[]): string | undefined {
  const [read] = useState(() => {
    const row = chat.row.get();
    return row && (row.unread ?? 0) > 0 ? (row.read ?? 0) : undefined;
  });
  const first = keys[0];
  // biome-ignore lint/correctness/useExhaustiveDependencies: later messages do not change which one is first.
  return useMemo(() => {
    if (read === undefined) return undefined;
    let found: string | undefined;
    for (let index = keys.length - 1; index >= 0; index -= 1) {
      const item = chat.timeline.item(keys[index] as string).get();
      if (item?.sequence !== undefined && item.sequence <= read) return found;
      if (isFromOthers(item)) found = item.key;
    }
    // The first unread message may be among older ones that are not loaded.
    return chat.timeline.range.get().hasOlder ? undefined : found;
  }, [chat, first, read]);
}

/** Return how many messages of others arrived since the user left the bottom. */
export function useNewCount(chat: Chat, keys: readonly string[], isAtBottom: boolean): number {
  const { hasNewer } = useObservable(chat.timeline.range);
  const unread = useObservable(chat.row)?.unread ?? 0;
  const seen = useRef(keys.at(-1));
  useLayoutEffect(() => {
    if (isAtBottom) seen.current = keys.at(-1);
  }, [keys, isAtBottom]);
  // The log shows an older part: new messages are not in it.
  if (hasNewer) return unread;
  if (isAtBottom || keys.at(-1) === seen.current) return 0;
  return itemsAfter(chat, keys, seen.current)?.filter(isFromOthers).length ?? 0;
}

/** Return a function that marks the messages in view as read. It does nothing while the page is hidden. */
export function useMarkRead(
  chat: Chat,
  keys: readonly string[],
  handle: RefObject<VirtualizerHandle | null>,
): () => void {
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const marked = useRef(0);
  const mark = useCallback(() => {
    timer.current = undefined;
    const list = handle.current;
    if (!list || document.visibilityState !== "visible" || list.viewportSize === 0) return;
    let index = list.findItemIndex(list.scrollOffset + list.viewportSize - 1);
    let sequence: number | undefined;
    // The last rows in view may be own messages without a sequence yet.
    for (; index >= 0 && sequence === undefined; index -= 1) {
      sequence = chat.timeline.item(keys[index] ?? "").get()?.sequence;
    }
    const known = Math.max(marked.current, chat.row.get()?.read ?? 0);
    if (sequence === undefined || sequence <= known) return;
    marked.current = sequence;
    chat.read(sequence).catch(() => {
      marked.current = 0;
    });
  }, [chat, keys, handle]);
  const markSoon = useCallback(() => {
    timer.current ??= setTimeout(mark, READ_DELAY_MS);
  }, [mark]);
  useEffect(() => {
    markSoon();
    document.addEventListener("visibilitychange", markSoon);
    return () => {
      document.removeEventListener("visibilitychange", markSoon);
      clearTimeout(timer.current);
      timer.current = undefined;
    };
  }, [markSoon]);
  return markSoon;
}

/** Announce messages of others that are added at the end. Messages that the user loads are not announced. */
export function useAnnounceMessages(chat: Chat, keys: readonly string[]): void {
  const { announce, locale } = useSettings();
  const nameOf = useUserNames();
  const { hasNewer } = useObservable(chat.timeline.range);
  const before = useRef({ last: keys.at(-1), hasNewer });
  useEffect(() => {
    const { last, hasNewer: hadNewer } = before.current;
    before.current = { last: keys.at(-1), hasNewer };
    if (hadNewer || last === keys.at(-1)) return;
    const added = (itemsAfter(chat, keys, last) ?? []).filter(isFromOthers).reverse();
    if (added.length > MAX_ANNOUNCED) announce(locale.text("newCount", { count: added.length }));
    else if (added.length > 0) {
      const texts = added.map((item) => locale.text("previewBy", { name: nameOf(item.by), text: item.text }));
      announce(texts.join(" "));
    }
  }, [chat, keys, hasNewer, announce, locale, nameOf]);
}

/** Return to the newest message when the user sends one. */
export function useFollowOwnSends(chat: Chat, keys: readonly string[], jumpToNewest: () => void): void {
  const last = keys.at(-1);
  const before = useRef(last);
  useLayoutEffect(() => {
    if (before.current === last) return;
    before.current = last;
    const item = last === undefined ? undefined : chat.timeline.item(last).get();
    if (item?.isOwn && item.delivery === "pending") jumpToNewest();
  }, [chat, last, jumpToNewest]);
}
