import type { Chat } from "@tidings/client";
import { type RefObject, useCallback, useEffect, useLayoutEffect, useRef, useState } from "react";
import type { VirtualizerHandle } from "virtua";
import type { ShownKeys } from "./key_changes.ts";
import type { LogScroll } from "./use_log_scroll.ts";

const HIGHLIGHT_MS = 1800;
const DIVIDER_SPACE_PX = 72;
const SETTLED_MS = 200;

export interface LogJump {
  /** The message that the user has just jumped to. It is highlighted for `HIGHLIGHT_MS`. */
  readonly highlighted: string | undefined;
  readonly jumpTo: (sequence: number) => void;
  readonly jumpToNewest: () => void;
}

/** A message that another part of the page wants to show. */
export interface MessageTarget {
  readonly sequence: number;
}

interface FirstPosition {
  readonly firstUnread: string | undefined;
  readonly target: MessageTarget | undefined;
}

/** Scroll to a message, and load the messages around it if necessary. Opens the log at the first unread message. */
export function useJump(
  chat: Chat,
  shown: ShownKeys,
  handle: RefObject<VirtualizerHandle | null>,
  scroll: LogScroll,
  { firstUnread, target }: FirstPosition,
): LogJump {
  const { timeline } = chat;
  const [highlighted, setHighlighted] = useHighlight();
  // A jump that waits until its message is rendered: a sequence, or the newest message.
  const waiting = useRef<number | "newest">(undefined);

  const { release, scrollToBottom } = scroll;
  const finish = useCallback(() => {
    if (waiting.current === undefined) return;
    if (waiting.current === "newest") {
      waiting.current = undefined;
      scrollToBottom();
      return;
    }
    const key = timeline.keyOf(waiting.current);
    const index = key === undefined ? -1 : shown.keys.indexOf(key);
    if (index < 0) return;
    waiting.current = undefined;
    release();
    handle.current?.scrollToIndex(index, { align: "center" });
    setHighlighted(key);
  }, [timeline, shown, handle, release, scrollToBottom, setHighlighted]);
  useLayoutEffect(() => finish(), [finish]);

  const load = useCallback((target: number | "newest", loading: Promise<void>) => {
    waiting.current = target;
    void loading.catch(() => {}).finally(() => setTimeout(() => giveUp(waiting, target), SETTLED_MS));
  }, []);
  const jumpTo = useCallback(
    (sequence: number) => {
      waiting.current = sequence;
      finish();
      if (waiting.current !== undefined) load(sequence, timeline.loadAround(sequence));
    },
    [timeline, finish, load],
  );
  const jumpToNewest = useCallback(() => load("newest", timeline.loadNewest()), [timeline, load]);

  useOpenAt(firstUnread, shown, handle, scroll);
  const latest = useRef(jumpTo);
  latest.current = jumpTo;
  useEffect(() => {
    if (target) latest.current(target.sequence);
  }, [target]);
  return { highlighted, jumpTo, jumpToNewest };
}

/** Forget a jump whose load has finished. If it failed, a later load must not jump. */
function giveUp(waiting: RefObject<number | "newest" | undefined>, target: number | "newest"): void {
  if (waiting.current === target) waiting.current = undefined;
}

/** Return the key of the highlighted message, and a function that highlights one for `HIGHLIGHT_MS`. */
function useHighlight(): [key: string | undefined, highlight: (key: string | undefined) => void] {
  const [key, setKey] = useState<string>();
  useEffect(() => {
    if (key === undefined) return;
    const timer = setTimeout(() => setKey(undefined), HIGHLIGHT_MS);
    return () => clearTimeout(timer);
  }, [key]);
  return [key, setKey];
}

/** Scroll to the first unread message once, when the log is opened. */
function useOpenAt(
  key: string | undefined,
  shown: ShownKeys,
  handle: RefObject<VirtualizerHandle | null>,
  { release, settleNearBottom }: LogScroll,
): void {
  const first = useRef({ key, keys: shown.keys });
  useLayoutEffect(() => {
    const { key, keys } = first.current;
    if (key === undefined) return;
    release();
    handle.current?.scrollToIndex(keys.indexOf(key), { align: "start", offset: -DIVIDER_SPACE_PX });
    // If all unread messages fit into the log, show its end rather than a part of an older message.
    const timer = setTimeout(settleNearBottom, SETTLED_MS);
    return () => clearTimeout(timer);
  }, [handle, release, settleNearBottom]);
}
