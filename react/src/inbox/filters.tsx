import { type KeyboardEvent, type ReactNode, useMemo } from "react";
import { useSettings } from "../hooks/client.ts";
import type { InboxFilter } from "../hooks/inbox.ts";

/** A category of notifications, with the name that users see. */
export interface InboxCategory {
  readonly id: string;
  readonly label: string;
}

export interface FilterTab {
  readonly id: string;
  readonly label: string;
  readonly count: number;
  readonly filter: InboxFilter;
}

/** Return the tabs of an inbox: all, unread, one per category, archive. */
export function useFilterTabs(
  categories: readonly InboxCategory[],
  counts: { readonly unread: number; readonly categories: Readonly<Record<string, number>> } | undefined,
): readonly FilterTab[] {
  const { locale } = useSettings();
  return useMemo(() => {
    const unread = counts?.unread ?? 0;
    return [
      { id: "all", label: locale.text("all"), count: 0, filter: {} },
      { id: "unread", label: locale.text("unreadFilter"), count: unread, filter: { is_unread: true } },
      ...categories.map(({ id, label }) => ({
        id: `category ${id}`,
        label,
        count: counts?.categories[id] ?? 0,
        filter: { category: id },
      })),
      { id: "archive", label: locale.text("archiveFilter"), count: 0, filter: { is_archived: true } },
    ];
  }, [locale, categories, counts]);
}

export interface FiltersProps {
  tabs: readonly FilterTab[];
  selected: string;
  onSelect: (id: string) => void;
  /** Id of the list that the tabs control. */
  panelId: string;
}

/** The tabs of an inbox. The arrow keys choose one. */
export function Filters({ tabs, selected, onSelect, panelId }: FiltersProps): ReactNode {
  const { locale } = useSettings();
  const move = (event: KeyboardEvent<HTMLElement>) => {
    const forward = locale.locale.direction === "rtl" ? "ArrowLeft" : "ArrowRight";
    if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
    event.preventDefault();
    const index = tabs.findIndex((tab) => tab.id === selected) + (event.key === forward ? 1 : -1);
    const next = tabs[(index + tabs.length) % tabs.length];
    if (!next) return;
    onSelect(next.id);
    const buttons = event.currentTarget.querySelectorAll<HTMLElement>("[role=tab]");
    buttons[(index + tabs.length) % tabs.length]?.focus();
  };
  return (
    <div className="td-tabs" role="tablist" aria-label={locale.text("filters")} onKeyDown={move}>
      {tabs.map((tab) => (
        <button
          key={tab.id}
          type="button"
          role="tab"
          className="td-tab"
          aria-selected={tab.id === selected}
          aria-controls={panelId}
          tabIndex={tab.id === selected ? 0 : -1}
          onClick={() => onSelect(tab.id)}
        >
          {tab.label}
          {tab.count > 0 && <span className="td-tab-count">{locale.badge(tab.count)}</span>}
        </button>
      ))}
    </div>
  );
}
