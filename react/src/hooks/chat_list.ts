import type { ChatRow } from "@tidings/client";
import { useEffect, useMemo, useRef } from "react";
import { useClient } from "./client.ts";
import { useObservable, useSelected } from "./observable.ts";

export interface UseChatListOptions {
  /** Return the archived chats instead of the others. */
  isArchived?: boolean;
}

export interface ChatListState {
  /** Pinned chats first, then by newest activity. */
  readonly rows: readonly ChatRow[];
  /** Whether the rows come from the store or the server. Until then, show a placeholder. */
  readonly isLoaded: boolean;
}

/** Return the chats of the user. Renders on every change of a row: rows themselves should use `useChatRow`. */
export function useChatList({ isArchived = false }: UseChatListOptions = {}): ChatListState {
  const { chats } = useClient();
  const all = useObservable(chats);
  const isLoaded = useObservable(chats.isLoaded);
  return useMemo(
    () => ({ rows: all.filter((row) => (row.is_archived ?? false) === isArchived), isLoaded }),
    [all, isArchived, isLoaded],
  );
}

/** Return one row of the chat list. Renders only when this row changes. */
export function useChatRow(chat: string): ChatRow | undefined {
  const client = useClient();
  return useObservable(useMemo(() => client.chats.row(chat), [client, chat]));
}

/** Return one row of the chat list, or the last one: a chat that the user has left keeps its name on the screen. */
export function useLastChatRow(chat: string): ChatRow | undefined {
  const row = useChatRow(chat);
  const last = useRef(row);
  if (row) last.current = row;
  return last.current?.chat === chat ? last.current : undefined;
}

export interface UseUnreadCountOptions {
  /** Count the unread notifications of this inbox instead of the unread messages. */
  inbox?: string;
}

/** Return the exact number of unread messages in chats that are not muted, or of unread notifications. */
export function useUnreadCount({ inbox: name }: UseUnreadCountOptions = {}): number {
  const client = useClient();
  const inbox = name === undefined ? undefined : client.inbox(name);
  useEffect(() => {
    // The inbox keeps the error, and asks again after the next reconnect.
    if (inbox && !inbox.counts.get()) inbox.refresh().catch(() => {});
  }, [inbox]);
  const messages = useSelected(inbox ? undefined : client.chats.unread, (count) => count);
  const notifications = useSelected(inbox?.counts, (counts) => counts?.unread);
  return messages ?? notifications ?? 0;
}
