import type { Notification } from "@tidings/client";
import { type MouseEvent, type ReactNode, useCallback, useEffect, useId, useMemo, useState } from "react";
import { useSettings } from "../hooks/client.ts";
import { type InboxState, useInbox } from "../hooks/inbox.ts";
import { IconButton } from "../parts/icon_button.tsx";
import { EmptyState, ErrorState, LoadingState } from "../parts/states.tsx";
import { VirtualList } from "../parts/virtual_list.tsx";
import { useComponent } from "../slots.tsx";
import { Filters, type InboxCategory, useFilterTabs } from "./filters.tsx";
import { applyMark, NotificationEntry, type NotificationItemProps } from "./notification_item.tsx";

export interface InboxPanelProps {
  inbox?: string | undefined;
  categories?: readonly InboxCategory[] | undefined;
  onSelect?: ((notification: Notification, event: MouseEvent) => void) | undefined;
  /** Shows a button that closes the panel. */
  onClose?: (() => void) | undefined;
  titleId?: string | undefined;
}

const FAILURE_MS = 6000;
const NO_CATEGORIES: readonly InboxCategory[] = [];

/** The notifications of an inbox, with filters and actions. */
export function InboxPanel(props: InboxPanelProps): ReactNode {
  const { inbox: name, categories = NO_CATEGORIES, onClose, titleId } = props;
  const { locale } = useSettings();
  const panelId = useId();
  const [selected, setSelected] = useState("all");
  const all = useFilterTabs(categories, undefined);
  const filter = all.find((tab) => tab.id === selected)?.filter ?? {};
  const state = useInbox({ inbox: name, ...filter });
  const tabs = useFilterTabs(categories, state.counts);
  const { failure, attempt } = useAttempts();
  useSeen(state);
  const { inbox, counts } = state;
  const markAll = () => {
    // Notifications that arrive after these counts have not been seen: they stay unread.
    const before = counts ? { before: counts.at } : {};
    attempt(inbox.markAllRead(filter.category ? { ...before, category: filter.category } : before));
  };
  const unread = filter.category ? counts?.categories[filter.category] : counts?.unread;
  return (
    <section className="td-inbox-panel" aria-labelledby={titleId}>
      <header className="td-inbox-header">
        <h2 id={titleId} className="td-inbox-title">
          {locale.text("notifications")}
        </h2>
        <button type="button" className="td-link" disabled={!unread} onClick={markAll}>
          {locale.text("markAllRead")}
        </button>
        {onClose && (
          <IconButton
            icon="close"
            label={locale.text("close")}
            className="td-inbox-close"
            onClick={onClose}
          />
        )}
      </header>
      <Filters tabs={tabs} selected={selected} onSelect={setSelected} panelId={panelId} />
      {failure && <p className="td-banner">{locale.text("actionFailed")}</p>}
      <div
        id={panelId}
        className="td-inbox-body"
        role="tabpanel"
        aria-label={tabs.find((tab) => tab.id === selected)?.label}
      >
        <InboxBody
          key={selected}
          state={state}
          attempt={attempt}
          isArchive={filter.is_archived ?? false}
          {...props}
        />
      </div>
    </section>
  );
}

interface InboxBodyProps extends InboxPanelProps {
  state: InboxState;
  isArchive: boolean;
  attempt: (action: Promise<unknown>) => void;
}

function InboxBody({ state, isArchive, attempt, categories = NO_CATEGORIES, onSelect }: InboxBodyProps) {
  const { inbox, feed, ids, hasMore, isLoading } = state;
  const { locale } = useSettings();
  const onMark = useCallback<NotificationItemProps["onMark"]>(
    (action, id) => attempt(applyMark(inbox, action, id)),
    [inbox, attempt],
  );
  const select = useCallback<NotificationItemProps["onSelect"]>(
    (notification, event) => {
      if (!notification.is_read) attempt(inbox.markRead([notification.id]));
      onSelect?.(notification, event);
    },
    [inbox, attempt, onSelect],
  );
  const labels = useMemo(() => new Map(categories.map(({ id, label }) => [id, label])), [categories]);
  const labelOf = useCallback((id: string) => labels.get(id) ?? id, [labels]);
  const renderItem = useCallback(
    (id: string, isTabStop: boolean) => (
      <NotificationEntry
        feed={feed}
        id={id}
        isTabStop={isTabStop}
        labelOf={labelOf}
        onSelect={select}
        onMark={onMark}
      />
    ),
    [feed, labelOf, select, onMark],
  );
  const loadMore = useCallback(() => {
    if (hasMore && !isLoading) feed.loadMore().catch(() => {});
  }, [feed, hasMore, isLoading]);
  if (ids.length === 0) return <NoNotifications state={state} isArchive={isArchive} />;
  return (
    <VirtualList
      ids={ids}
      label={locale.text("notifications")}
      renderItem={renderItem}
      onEndNear={loadMore}
    />
  );
}

function NoNotifications({ state, isArchive }: { state: InboxState; isArchive: boolean }) {
  const { locale } = useSettings();
  const Empty = useComponent("EmptyState", EmptyState);
  const Failed = useComponent("ErrorState", ErrorState);
  const Loading = useComponent("LoadingState", LoadingState);
  if (state.error) {
    const retry = () => void state.loadMore().catch(() => {});
    return <Failed title={locale.text("inboxFailed")} onRetry={retry} />;
  }
  if (!state.isLoaded) return <Loading shape="rows" />;
  if (isArchive) return <Empty icon="archive" title={locale.text("archiveEmpty")} />;
  return <Empty icon="bell" title={locale.text("inboxEmpty")} hint={locale.text("inboxEmptyHint")} />;
}

/** Tell the server that the user has looked at the inbox, also at what arrives while it is open. */
function useSeen({ inbox, counts }: InboxState): void {
  const hasUnseen = (counts?.unseen ?? 0) > 0;
  useEffect(() => {
    // Not important enough for an error: the next look at the inbox does it again.
    if (hasUnseen) inbox.markSeen().catch(() => {});
  }, [inbox, hasUnseen]);
}

/** Return a function that watches an action, and whether one failed recently. */
function useAttempts(): { failure: boolean; attempt: (action: Promise<unknown>) => void } {
  const { announce, locale } = useSettings();
  const [failure, setFailure] = useState(false);
  useEffect(() => {
    if (!failure) return;
    const timer = setTimeout(() => setFailure(false), FAILURE_MS);
    return () => clearTimeout(timer);
  }, [failure]);
  const attempt = useCallback(
    (action: Promise<unknown>) => {
      action.catch(() => {
        setFailure(true);
        announce(locale.text("actionFailed"));
      });
    },
    [announce, locale],
  );
  return { failure, attempt };
}
