import {
  type FocusEvent,
  type KeyboardEvent,
  type RefObject,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
} from "react";
import type { VirtualizerHandle } from "virtua";

export interface ListFocus {
  /** The item with the tab stop. */
  readonly id: string | undefined;
  readonly index: number;
  readonly listeners: {
    readonly onKeyDown: (event: KeyboardEvent) => void;
    readonly onFocus: (event: FocusEvent) => void;
    readonly onBlur: (event: FocusEvent) => void;
  };
}

/** Return the index that a key moves to, or `undefined` if the key does not move. */
export function indexAfterKey(key: string, index: number, count: number): number | undefined {
  const targets: Record<string, number> = {
    ArrowDown: Math.min(index + 1, count - 1),
    ArrowUp: Math.max(index - 1, 0),
    Home: 0,
    End: count - 1,
  };
  return count > 0 ? targets[key] : undefined;
}

/** Keep one tab stop in a virtual list, and move it with the keyboard. */
export function useListFocus(
  ids: readonly string[],
  current: string | undefined,
  scroller: RefObject<HTMLElement | null>,
  handle: RefObject<VirtualizerHandle | null>,
): ListFocus {
  const [focused, setFocused] = useState<string>();
  // An object: moving to the same item again is a new request.
  const [request, setRequest] = useState<{ readonly id: string | undefined }>();
  const hasFocus = useRef(false);
  const id = [focused, current, ids[0]].find(
    (candidate) => candidate !== undefined && ids.includes(candidate),
  );
  const index = id === undefined ? -1 : ids.indexOf(id);
  const moveTo = (target: string | undefined) => {
    setFocused(target);
    setRequest({ id: target });
  };
  useNeighbourFocus(ids, focused, hasFocus, moveTo);
  const latestIds = useRef(ids);
  latestIds.current = ids;
  useEffect(() => {
    if (request?.id === undefined) return;
    handle.current?.scrollToIndex(latestIds.current.indexOf(request.id), { align: "nearest" });
    itemElement(scroller.current, request.id)?.focus({ preventScroll: true });
  }, [request, scroller, handle]);
  const onKeyDown = (event: KeyboardEvent) => {
    if (!(event.target as HTMLElement).matches("[data-td-item]")) return;
    const next = indexAfterKey(event.key, index, ids.length);
    if (next === undefined) return;
    event.preventDefault();
    moveTo(ids[next]);
  };
  const onFocus = (event: FocusEvent) => {
    hasFocus.current = true;
    const item = (event.target as HTMLElement).closest<HTMLElement>("[data-td-id]");
    if (item) setFocused(item.dataset.tdId);
  };
  const onBlur = ({ target }: FocusEvent) => {
    // Some browsers also report the removal of the focused item, which `useNeighbourFocus` handles in this task.
    setTimeout(() => {
      if (target.isConnected && !scroller.current?.contains(document.activeElement)) hasFocus.current = false;
    });
  };
  return { id, index, listeners: { onKeyDown, onFocus, onBlur } };
}

/** Return the element of a list item that receives the focus, if the item is in the page. */
export function itemElement(list: ParentNode | null, id: string): HTMLElement | null {
  return list?.querySelector<HTMLElement>(`[data-td-id="${CSS.escape(id)}"] [data-td-item]`) ?? null;
}

/**
 * Move the focus to the neighbour of an item that had it and was removed, for example archived. Otherwise the browser
 * moves it to the start of the page.
 */
function useNeighbourFocus(
  ids: readonly string[],
  focused: string | undefined,
  hasFocus: RefObject<boolean>,
  moveTo: (id: string | undefined) => void,
): void {
  const lastIndex = useRef(-1);
  useLayoutEffect(() => {
    if (focused === undefined) return;
    const index = ids.indexOf(focused);
    if (index >= 0) {
      lastIndex.current = index;
    } else if (hasFocus.current && document.activeElement === document.body) {
      moveTo(ids[Math.min(lastIndex.current, ids.length - 1)]);
    }
  });
}
