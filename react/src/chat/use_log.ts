import type { Chat } from "@tidings/client";
import { type RefObject, useMemo, useRef } from "react";
import type { VirtualizerHandle } from "virtua";
import type { MessagesState } from "../hooks/chat.ts";
import type { ShownKeys } from "./key_changes.ts";
import {
  useAnnounceMessages,
  useFirstUnread,
  useFollowOwnSends,
  useMarkRead,
  useNewCount,
} from "./message_effects.ts";
import { type LogJump, type MessageTarget, useJump } from "./use_jump.ts";
import { useLoadMore } from "./use_load_more.ts";
import { type LogFocus, useLogFocus } from "./use_log_focus.ts";
import { useLogScroll } from "./use_log_scroll.ts";
import { useShownKeys } from "./use_shown_keys.ts";

export interface LogState {
  readonly scroller: RefObject<HTMLDivElement | null>;
  readonly handle: RefObject<VirtualizerHandle | null>;
  readonly shown: ShownKeys;
  /** Key of the first message that was unread when the chat was opened. */
  readonly firstUnread: string | undefined;
  readonly jump: LogJump;
  readonly focus: LogFocus;
  /** Indexes of rows that stay in the page when they are out of view. */
  readonly keepMounted: readonly number[];
  readonly isAtBottom: boolean;
  /** How many messages arrived since the user left the bottom. */
  readonly newCount: number;
  readonly onScroll: () => void;
  readonly onResize: () => void;
  readonly onJumpToNewest: () => void;
}

const KEPT_AT_END = 30;

/** The behaviour of the log: position, focus, loading, receipts and announcements. */
export function useLog(chat: Chat, messages: MessagesState, target: MessageTarget | undefined): LogState {
  const scroller = useRef<HTMLDivElement>(null);
  const handle = useRef<VirtualizerHandle>(null);
  const shown = useShownKeys(messages.keys);
  const { keys } = shown;

  const firstUnread = useFirstUnread(chat, keys);
  const scroll = useLogScroll(scroller, shown);
  const jump = useJump(chat, shown, handle, scroll, { firstUnread, target });
  const loadMore = useLoadMore(messages, scroller);
  const focus = useLogFocus(chat, keys, scroller, handle);
  const keepMounted = useKeepMounted(keys.length, focus.index, scroll.isAtBottom);
  const newCount = useNewCount(chat, keys, scroll.isAtBottom);
  const markRead = useMarkRead(chat, keys, handle);
  const jumpToNewest = messages.range.hasNewer ? jump.jumpToNewest : scroll.scrollToBottom;
  useAnnounceMessages(chat, keys);
  useFollowOwnSends(chat, keys, jumpToNewest);

  const onScroll = () => {
    scroll.onScroll();
    loadMore();
    markRead();
  };
  const onJumpToNewest = () => {
    jumpToNewest();
    // The button disappears: keep the focus in the log.
    scroller.current?.focus({ preventScroll: true });
  };
  const { isAtBottom, onResize } = scroll;
  return {
    scroller,
    handle,
    shown,
    firstUnread,
    jump,
    focus,
    keepMounted,
    isAtBottom,
    newCount,
    onScroll,
    onResize,
    onJumpToNewest,
  };
}

/**
 * Return the rows to keep in the page: the focused one, and the last ones while the log follows them.
 *
 * Following a new message scrolls down, and the virtual list then removes the rows above the view and renders them
 * again. With these rows kept, a new message renders one row.
 */
function useKeepMounted(count: number, focused: number, isAtBottom: boolean): readonly number[] {
  return useMemo(() => {
    const kept = isAtBottom ? Math.min(count, KEPT_AT_END) : 0;
    const rows = Array.from({ length: kept }, (_, index) => count - kept + index);
    return focused < 0 || focused >= count - kept ? rows : [focused, ...rows];
  }, [count, focused, isAtBottom]);
}
