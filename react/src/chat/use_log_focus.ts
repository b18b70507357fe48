import type { Chat } from "@tidings/client";
import { type FocusEvent, type KeyboardEvent, type RefObject, useEffect, useRef, useState } from "react";
import type { VirtualizerHandle } from "virtua";
import { composerOf } from "../composer_model.ts";
import { indexAfterKey } from "../parts/list_focus.ts";

export interface LogFocus {
  /** The index of the focused message, or -1. */
  readonly index: number;
  readonly listeners: {
    readonly onKeyDown: (event: KeyboardEvent) => void;
    readonly onFocus: (event: FocusEvent) => void;
  };
}

/**
 * Move through the messages with the keyboard.
 *
 * Arrow up enters the messages from the log. The arrow keys, Home and End move between messages; Enter moves to the
 * actions of a message, Escape back to the message, and then to the composer.
 */
export function useLogFocus(
  chat: Chat,
  keys: readonly string[],
  scroller: RefObject<HTMLElement | null>,
  handle: RefObject<VirtualizerHandle | null>,
): LogFocus {
  const [focused, setFocused] = useState<string>();
  // An object: moving to the same message again is a new request.
  const [request, setRequest] = useState<{ readonly key: string | undefined }>();
  const index = focused === undefined ? -1 : keys.lastIndexOf(focused);
  const latestKeys = useRef(keys);
  latestKeys.current = keys;
  useEffect(() => {
    if (request?.key === undefined) return;
    handle.current?.scrollToIndex(latestKeys.current.lastIndexOf(request.key), { align: "nearest" });
    rowElement(scroller.current, request.key)?.focus({ preventScroll: true });
  }, [request, scroller, handle]);

  const move = (event: KeyboardEvent, to: number) => {
    event.preventDefault();
    setFocused(keys[to]);
    setRequest({ key: keys[to] });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const target = event.target as HTMLElement;
    const row = target.closest<HTMLElement>("[data-td-key]");
    const to = indexAfterKey(event.key, index, keys.length);
    if (event.key === "Escape") {
      event.stopPropagation();
      if (row && target !== row) row.focus();
      else composerOf(chat).focus();
    } else if (target === scroller.current && event.key === "ArrowUp") {
      move(event, lastInView(handle.current) ?? keys.length - 1);
    } else if (target === row && to !== undefined) {
      move(event, to);
    } else if (target === row && event.key === "Enter") {
      // Otherwise the same key would press the button that receives the focus.
      event.preventDefault();
      firstControl(target)?.focus();
    }
  };
  const onFocus = (event: FocusEvent) => {
    const row = (event.target as HTMLElement).closest<HTMLElement>("[data-td-key]");
    if (row) setFocused(row.dataset.tdKey);
  };
  return { index, listeners: { onKeyDown, onFocus } };
}

function rowElement(scroller: HTMLElement | null, key: string): HTMLElement | null {
  return scroller?.querySelector<HTMLElement>(`[data-td-key="${CSS.escape(key)}"]`) ?? null;
}

function lastInView(list: VirtualizerHandle | null): number | undefined {
  return list?.findItemIndex(list.scrollOffset + list.viewportSize - 1);
}

function firstControl(row: HTMLElement): HTMLElement | null {
  return row.querySelector<HTMLElement>(".td-actions button") ?? row.querySelector<HTMLElement>("button, a");
}
