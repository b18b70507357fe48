import { type RefObject, useCallback, useEffect } from "react";
import type { MessagesState } from "../hooks/chat.ts";

const NEAR_PX = 800;

/** Return a function that loads older or newer messages if the user is near that end of the log. */
export function useLoadMore(
  { keys, range, loadOlder, loadNewer }: MessagesState,
  scroller: RefObject<HTMLElement | null>,
): () => void {
  const check = useCallback(() => {
    const element = scroller.current;
    // After an error the user asks again, with the button.
    if (!element || range.isLoading || range.error || element.clientHeight === 0) return;
    const { scrollTop, scrollHeight, clientHeight } = element;
    if (range.hasOlder && scrollTop < NEAR_PX) loadOlder().catch(() => {});
    else if (range.hasNewer && scrollHeight - scrollTop - clientHeight < NEAR_PX) loadNewer().catch(() => {});
  }, [scroller, range, loadOlder, loadNewer]);

  // A page may be shorter than the log. The first scroll to the end needs two frames: until then the log is at its
  // start, where it would load older messages.
  // biome-ignore lint/correctness/useExhaustiveDependencies: check again when messages were added.
  useEffect(() => {
    let frame = requestAnimationFrame(() => {
      frame = requestAnimationFrame(check);
    });
    return () => cancelAnimationFrame(frame);
  }, [check, keys]);
  return check;
}
