import type { ReactNode } from "react";
import { useSettings } from "../hooks/client.ts";
import { Icon } from "../parts/icon.tsx";

export interface BellProps {
  /** The number on the badge. 0: no badge. */
  count: number;
  isOpen: boolean;
  /** Id of the popover. */
  controls: string;
  onToggle: () => void;
}

/** The button that opens the inbox, with the number of unread notifications. */
export function Bell({ count, isOpen, controls, onToggle }: BellProps): ReactNode {
  const { locale } = useSettings();
  const label = count > 0 ? locale.text("notificationsUnread", { count }) : locale.text("notifications");
  return (
    <button
      type="button"
      className="td-bell"
      aria-haspopup="dialog"
      aria-expanded={isOpen}
      aria-controls={isOpen ? controls : undefined}
      onClick={onToggle}
    >
      <Icon name="bell" />
      <span className="td-hidden">{label}</span>
      {count > 0 && (
        <span className="td-badge" aria-hidden="true">
          {locale.badge(count)}
        </span>
      )}
    </button>
  );
}
