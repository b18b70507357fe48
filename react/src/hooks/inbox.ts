import type { Feed, Inbox, InboxCounts, Notification } from "@tidings/client";
import { useEffect, useMemo } from "react";
import { useClient } from "./client.ts";
import { useObservable } from "./observable.ts";

export interface InboxFilter {
  category?: string;
  is_unread?: boolean;
  is_archived?: boolean;
}

export interface UseInboxOptions extends InboxFilter {
  /** Name of the inbox. Default: `default`. */
  inbox?: string | undefined;
}

export interface InboxState {
  readonly inbox: Inbox;
  readonly feed: Feed;
  /** Exact counts, or `undefined` until the server has answered. */
  readonly counts: InboxCounts | undefined;
  /** Ids of the notifications that are loaded, newest first. */
  readonly ids: readonly string[];
  readonly isLoaded: boolean;
  readonly isLoading: boolean;
  readonly hasMore: boolean;
  readonly error: unknown;
  readonly loadMore: () => Promise<void>;
}

/**
 * Return an inbox and the notifications that match the filter. The feed is loaded and follows changes while the
 * component is mounted. Mark notifications with the methods of `inbox`: they are applied at once, and undone if the
 * server refuses.
 */
export function useInbox({ inbox: name, ...filter }: UseInboxOptions = {}): InboxState {
  const client = useClient();
  const inbox = client.inbox(name);
  const { category, is_unread, is_archived } = filter;
  const feed = useMemo(
    () =>
      inbox.feed({
        ...(category === undefined ? {} : { category }),
        ...(is_unread ? { is_unread } : {}),
        ...(is_archived ? { is_archived } : {}),
      }),
    [inbox, category, is_unread, is_archived],
  );
  useEffect(() => feed.open(), [feed]);
  const counts = useObservable(inbox.counts);
  const ids = useObservable(feed.ids);
  const range = useObservable(feed.range);
  return useMemo(() => {
    const { isLoaded, isLoading, hasMore, error } = range;
    return { inbox, feed, counts, ids, isLoaded, isLoading, hasMore, error, loadMore: () => feed.loadMore() };
  }, [inbox, feed, counts, ids, range]);
}

/** Return one notification of a feed. Renders only when this notification changes. */
export function useNotification(feed: Feed, id: string): Notification | undefined {
  return useObservable(useMemo(() => feed.notification(id), [feed, id]));
}
