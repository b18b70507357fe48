import type { Notification } from "@tidings/client";
import {
  type KeyboardEvent,
  type MouseEvent,
  type ReactNode,
  useEffect,
  useId,
  useRef,
  useState,
} from "react";
import { useUnreadCount } from "../hooks/chat_list.ts";
import { useClient, useSettings } from "../hooks/client.ts";
import { useSelected } from "../hooks/observable.ts";
import { Root } from "../parts/root.tsx";
import { type Components, ComponentsProvider, useComponent } from "../slots.tsx";
import { Bell } from "./bell.tsx";
import type { InboxCategory } from "./filters.tsx";
import { InboxPanel } from "./inbox_panel.tsx";

export interface InboxProps {
  /** Name of the inbox. Default: `default`. */
  inbox?: string | undefined;
  /** `popover`: a bell with a badge that opens the notifications. `page`: the notifications themselves. */
  variant?: "popover" | "page" | undefined;
  /** Categories to filter by, with their names. */
  categories?: readonly InboxCategory[] | undefined;
  /**
   * Called when the user selects a notification, after it was marked as read. Call `event.preventDefault()` to open
   * its address with your router.
   */
  onSelect?: ((notification: Notification, event: MouseEvent) => void) | undefined;
  /** Replacements of parts. */
  components?: Partial<Components> | undefined;
  className?: string | undefined;
}

/** The notifications of the user, as a bell with a popover or as a page. */
export function Inbox(props: InboxProps): ReactNode {
  const { components, variant = "popover" } = props;
  const Variant = variant === "page" ? InboxPage : InboxPopover;
  return (
    <ComponentsProvider components={components}>
      <Variant {...props} />
    </ComponentsProvider>
  );
}

function InboxPage({ inbox, categories, onSelect, className = "" }: InboxProps) {
  useAnnounceNotifications(inbox);
  const titleId = useId();
  return (
    <Root className={`td-inbox-page ${className}`}>
      <InboxPanel inbox={inbox} categories={categories} onSelect={onSelect} titleId={titleId} />
    </Root>
  );
}

function InboxPopover({ inbox, categories, onSelect, className = "" }: InboxProps) {
  useAnnounceNotifications(inbox);
  const count = useUnreadCount({ inbox: inbox ?? "default" });
  const { root, panel, isOpen, open, close, onKeyDown } = usePopover();
  const panelId = useId();
  const titleId = useId();
  const select = (notification: Notification, event: MouseEvent) => {
    onSelect?.(notification, event);
    if (onSelect) close();
  };
  const BellPart = useComponent("Bell", Bell);
  return (
    <Root ref={root} className={`td-inbox ${className}`} onKeyDown={onKeyDown}>
      <BellPart count={count} isOpen={isOpen} controls={panelId} onToggle={isOpen ? close : open} />
      {isOpen && (
        <div
          ref={panel}
          id={panelId}
          className="td-popover"
          role="dialog"
          aria-labelledby={titleId}
          tabIndex={-1}
        >
          <InboxPanel
            inbox={inbox}
            categories={categories}
            onSelect={select}
            onClose={close}
            titleId={titleId}
          />
        </div>
      )}
    </Root>
  );
}

/** The state of a popover. The focus moves into it, and back to its button when it is closed. */
function usePopover() {
  const root = useRef<HTMLDivElement>(null);
  const panel = useRef<HTMLDivElement>(null);
  const [isOpen, setIsOpen] = useState(false);
  const open = () => setIsOpen(true);
  const close = () => {
    setIsOpen(false);
    root.current?.querySelector<HTMLElement>("[aria-haspopup]")?.focus();
  };
  useEffect(() => {
    if (isOpen) panel.current?.focus();
  }, [isOpen]);
  useCloseOutside(root, isOpen, () => setIsOpen(false));
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Escape" || !isOpen) return;
    event.stopPropagation();
    close();
  };
  return { root, panel, isOpen, open, close, onKeyDown };
}

/** Close a popover when the user clicks or moves the focus elsewhere. */
function useCloseOutside(
  root: { readonly current: HTMLElement | null },
  isOpen: boolean,
  close: () => void,
): void {
  useEffect(() => {
    if (!isOpen) return;
    const onOutside = (event: Event) => {
      if (!root.current?.contains(event.target as Node)) close();
    };
    document.addEventListener("pointerdown", onOutside);
    document.addEventListener("focusin", onOutside);
    return () => {
      document.removeEventListener("pointerdown", onOutside);
      document.removeEventListener("focusin", onOutside);
    };
  });
}

/** Announce notifications that arrive. They raise the number of unseen ones; marking as unread does not. */
function useAnnounceNotifications(name: string | undefined): void {
  const { announce, locale } = useSettings();
  const unseen = useSelected(useClient().inbox(name).counts, (counts) => counts?.unseen);
  const before = useRef(unseen);
  useEffect(() => {
    const added = unseen === undefined || before.current === undefined ? 0 : unseen - before.current;
    before.current = unseen;
    if (added > 0) announce(locale.text("newNotifications", { count: added }));
  }, [unseen, announce, locale]);
}
