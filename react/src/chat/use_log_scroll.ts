import { type RefObject, useCallback, useLayoutEffect, useMemo, useRef, useState } from "react";
import type { ShownKeys } from "./key_changes.ts";

const BOTTOM_PX = 24;
const NEAR_PX = 120;

export interface LogScroll {
  /** Whether the log follows the newest message. */
  readonly isAtBottom: boolean;
  readonly onScroll: () => void;
  /** Call this when rows were measured or changed their height, and when the log did. */
  readonly onResize: () => void;
  readonly scrollToBottom: () => void;
  /** Stop following the newest message, because the list is about to show another part. */
  readonly release: () => void;
  /** Follow the newest message if it is almost in view. */
  readonly settleNearBottom: () => void;
}

/** Whether the log follows its end, and the position after the last scroll. */
interface Position {
  isStuck: boolean;
  top: number;
  height: number;
}

/**
 * Follow the newest message while the user is at the bottom, and stay where they are otherwise.
 *
 * The user leaves the bottom by scrolling up. The virtual list also moves the scroll position, when it learns the
 * height of rows, but then the height of the content changes as well.
 */
export function useLogScroll(scroller: RefObject<HTMLElement | null>, { keys }: ShownKeys): LogScroll {
  const [isAtBottom, setIsAtBottom] = useState(true);
  const position = useRef<Position>({ isStuck: true, top: 0, height: 0 });

  const setIsStuck = useCallback((isStuck: boolean) => {
    position.current.isStuck = isStuck;
    setIsAtBottom(isStuck);
  }, []);
  const release = useCallback(() => setIsStuck(false), [setIsStuck]);
  const scrollToBottom = useCallback(() => {
    setIsStuck(true);
    follow(scroller.current, position.current);
  }, [scroller, setIsStuck]);

  const onScroll = useCallback(() => {
    const element = scroller.current;
    if (!element) return;
    const { scrollTop, scrollHeight, clientHeight } = element;
    const { top, height } = position.current;
    if (scrollHeight - scrollTop - clientHeight < BOTTOM_PX) setIsStuck(true);
    else if (scrollTop < top - 1 && scrollHeight === height) setIsStuck(false);
    Object.assign(position.current, { top: scrollTop, height: scrollHeight });
  }, [scroller, setIsStuck]);

  // In the next frame, before it is painted: here, the scroll would force a layout for each message that is added.
  // biome-ignore lint/correctness/useExhaustiveDependencies: follow when messages are added.
  useLayoutEffect(() => {
    const frame = requestAnimationFrame(() => follow(scroller.current, position.current));
    return () => cancelAnimationFrame(frame);
  }, [scroller, keys]);

  const settleNearBottom = useCallback(() => {
    const element = scroller.current;
    const isNear = element && element.scrollHeight - element.scrollTop - element.clientHeight < NEAR_PX;
    if (isNear) scrollToBottom();
  }, [scroller, scrollToBottom]);
  const onResize = useCallback(() => {
    const followNow = () => follow(scroller.current, position.current);
    // The virtual list reports the new heights before it has applied them to the page: in this task, or in the next.
    queueMicrotask(followNow);
    requestAnimationFrame(followNow);
  }, [scroller]);

  return useMemo(
    () => ({ isAtBottom, onScroll, onResize, scrollToBottom, release, settleNearBottom }),
    [isAtBottom, onScroll, onResize, scrollToBottom, release, settleNearBottom],
  );
}

/**
 * Scroll to the end, if the log follows it.
 *
 * Not with `scrollToIndex` of the virtual list: it repeats the scroll while rows are measured, against a user who
 * scrolls up meanwhile.
 */
function follow(element: HTMLElement | null, position: Position): void {
  if (!element || !position.isStuck) return;
  element.scrollTop = element.scrollHeight;
  position.top = element.scrollTop;
  position.height = element.scrollHeight;
}
