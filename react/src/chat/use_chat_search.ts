import type { SearchResult } from "@tidings/client";
import { type RefObject, useCallback, useEffect, useRef, useState } from "react";
import { useMessageSearch } from "../hooks/search.ts";
import type { MessageTarget } from "./use_jump.ts";

export interface ChatSearch {
  readonly isAvailable: boolean;
  readonly isOpen: boolean;
  /** The chat that was open when the search of one chat was started. */
  readonly chat: string | undefined;
  /** Whether the search is shown rather than the chat, where both do not fit side by side. */
  readonly isInFront: boolean;
  readonly open: (chat?: string) => void;
  readonly close: () => void;
  readonly returnToResults: () => void;
  readonly select: (result: SearchResult) => void;
  /** Return the message to show in the open chat. */
  readonly targetIn: (chat: string) => MessageTarget | undefined;
  /** Forget the message to show, because the user opens a chat in another way. */
  readonly forgetTarget: () => void;
}

/** The search next to a chat. A result opens its chat at the message. */
export function useChatSearch(
  root: RefObject<HTMLElement | null>,
  hasSearch: boolean,
  openChat: (chat: string) => void,
): ChatSearch {
  const isAvailable = useMessageSearch() !== undefined && hasSearch;
  const [search, setSearch] = useState<{ chat: string | undefined }>();
  const [isInFront, setIsInFront] = useState(false);
  const [target, setTarget] = useState<MessageTarget & { chat: string }>();
  const isOpen = isAvailable && search !== undefined;
  useFocusAfterSearch(root, isOpen, isInFront, target);
  const open = useCallback((chat?: string) => {
    setSearch({ chat });
    setIsInFront(true);
  }, []);
  const close = useCallback(() => {
    setSearch(undefined);
    setIsInFront(false);
  }, []);
  const select = useCallback(
    ({ chat, message: { sequence } }: SearchResult) => {
      openChat(chat);
      setTarget({ chat, sequence });
      setIsInFront(false);
    },
    [openChat],
  );
  return {
    isAvailable,
    isOpen,
    chat: search?.chat,
    isInFront: isOpen && isInFront,
    open,
    close,
    returnToResults: useCallback(() => setIsInFront(true), []),
    select,
    targetIn: (chat) => (target?.chat === chat ? target : undefined),
    forgetTarget: useCallback(() => setTarget(undefined), []),
  };
}

/** Keep the focus where the user sees it: on the result, on the title of the chat, or on the button of the search. */
function useFocusAfterSearch(
  root: RefObject<HTMLElement | null>,
  isOpen: boolean,
  isInFront: boolean,
  target: MessageTarget | undefined,
): void {
  const wasOpen = useRef(isOpen);
  useEffect(() => {
    if (wasOpen.current && !isOpen) focusVisible(root.current, ".td-search-open");
    wasOpen.current = isOpen;
  }, [root, isOpen]);
  const hasTarget = target !== undefined;
  useEffect(() => {
    if (!hasTarget || !isOpen || document.activeElement?.checkVisibility()) return;
    focusVisible(root.current, isInFront ? ".td-found[aria-current]" : ".td-chat-title");
  }, [root, hasTarget, isOpen, isInFront]);
}

function focusVisible(root: HTMLElement | null, selector: string): void {
  const found = [...(root?.querySelectorAll<HTMLElement>(selector) ?? [])];
  found.find((element) => element.checkVisibility())?.focus();
}
