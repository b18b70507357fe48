import {
  createContext,
  forwardRef,
  memo,
  type ReactElement,
  type ReactNode,
  useContext,
  useEffect,
  useMemo,
  useRef,
} from "react";
import {
  type CustomContainerComponentProps,
  type CustomItemComponentProps,
  Virtualizer,
  type VirtualizerHandle,
} from "virtua";
import { useListFocus } from "./list_focus.ts";

const END_DISTANCE_PX = 400;

const ListContext = /* @__PURE__ */ createContext({ label: "", count: 0 });

const Container = /* @__PURE__ */ forwardRef<HTMLUListElement, CustomContainerComponentProps>(
  function Container(props, ref) {
    return <ul ref={ref} className="td-list" aria-label={useContext(ListContext).label} {...props} />;
  },
);

/** A list item with its position for screen readers: most items of a virtual list are not in the page. */
const Item = /* @__PURE__ */ forwardRef<HTMLLIElement, CustomItemComponentProps>(function Item(
  { index, ...rest },
  ref,
) {
  return <li ref={ref} aria-posinset={index + 1} aria-setsize={useContext(ListContext).count} {...rest} />;
});

export interface VirtualListProps {
  ids: readonly string[];
  label: string;
  /** The item that has the tab stop until the user moves it, for example the selected one. */
  current?: string | undefined;
  /** Render an item. The element marked by `data-td-item` receives the focus. */
  renderItem: (id: string, isTabStop: boolean) => ReactElement;
  onEndNear?: (() => void) | undefined;
}

/** A virtual list with one tab stop, in which the arrow keys, Home and End move the focus. */
export const VirtualList = /* @__PURE__ */ memo(function VirtualList(props: VirtualListProps): ReactNode {
  const { ids, label, current, renderItem, onEndNear } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const handle = useRef<VirtualizerHandle>(null);
  const { id: tabStop, index, listeners } = useListFocus(ids, current, scroller, handle);
  const context = useMemo(() => ({ label, count: ids.length }), [label, ids.length]);
  const keepMounted = useMemo(() => (index < 0 ? [] : [index]), [index]);

  const onScroll = () => {
    const list = handle.current;
    if (list && list.scrollSize - list.scrollOffset - list.viewportSize < END_DISTANCE_PX) onEndNear?.();
  };
  // The first page may be shorter than the list.
  useEffect(onScroll);

  return (
    <div className="td-virtual-list" ref={scroller} {...listeners}>
      <ListContext.Provider value={context}>
        <Virtualizer
          ref={handle}
          data={ids}
          as={Container}
          item={Item}
          scrollRef={scroller}
          keepMounted={keepMounted}
          onScroll={onScroll}
        >
          {(id) => (
            <div key={id} data-td-id={id}>
              {renderItem(id, id === tabStop)}
            </div>
          )}
        </Virtualizer>
      </ListContext.Provider>
    </div>
  );
});
