import type { Chat, MessageStatus, TimelineItem, TimelineRange } from "@tidings/client";
import { useEffect, useMemo } from "react";
import { useClient } from "./client.ts";
import { useObservable } from "./observable.ts";

/**
 * Return a chat, and watch it while the component is mounted: receipts and typing are pushed only to devices that
 * watch. The result is the same object for the same id, so it is a safe dependency of effects.
 */
export function useChat(id: string): Chat {
  const chat = useClient().chat(id);
  useEffect(() => chat.watch(), [chat]);
  return chat;
}

export interface MessagesState {
  /** Keys of the messages, oldest first. A message keeps its key when it is committed. */
  readonly keys: readonly string[];
  readonly range: TimelineRange;
  readonly loadOlder: (limit?: number) => Promise<void>;
  readonly loadNewer: (limit?: number) => Promise<void>;
  /** Replace the range by the messages around a sequence. */
  readonly loadAround: (sequence: number) => Promise<void>;
  readonly loadNewest: () => Promise<void>;
}

/**
 * Return the keys of the messages that are loaded, and functions that load more. The newest messages are loaded
 * when the component is mounted.
 *
 * The list renders again only when messages are added or removed. Give each row its key, and let it call
 * `useMessage`: an edit, a reaction or a status change then renders one row.
 */
export function useMessages(id: string): MessagesState {
  const { timeline } = useClient().chat(id);
  const keys = useObservable(timeline.keys);
  const range = useObservable(timeline.range);
  useEffect(() => {
    // A failure is in `range.error`.
    timeline.loadNewest().catch(() => {});
  }, [timeline]);
  const loaders = useMemo(
    () => ({
      loadOlder: (limit?: number) => timeline.loadOlder(limit),
      loadNewer: (limit?: number) => timeline.loadNewer(limit),
      loadAround: (sequence: number) => timeline.loadAround(sequence),
      loadNewest: () => timeline.loadNewest(),
    }),
    [timeline],
  );
  return useMemo(() => ({ keys, range, ...loaders }), [keys, range, loaders]);
}

/** Return one message of a chat by its key. Renders only when this message changes. */
export function useMessage(chat: string, key: string): TimelineItem | undefined {
  const { timeline } = useClient().chat(chat);
  return useObservable(useMemo(() => timeline.item(key), [timeline, key]));
}

/** Return the delivery status of an own message: sent, delivered or read. */
export function useMessageStatus(chat: string, sequence: number | undefined): MessageStatus | undefined {
  const model = useClient().chat(chat);
  return useObservable(
    useMemo(() => (sequence === undefined ? undefined : model.status(sequence)), [model, sequence]),
  );
}
