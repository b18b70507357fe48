import type { UseInfiniteQueryResult, UseQueryResult } from "@tanstack/react-query";
import { type QueryKey, useInfiniteQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { call, type RequestOptions } from "../api.ts";
import { Empty, ErrorView, Loading } from "./states.tsx";

/** Show the data of a query, or that it is loading or failed. */
export function QueryView<T>({
  query,
  rows,
  children,
}: {
  query: UseQueryResult<T>;
  /** The rows of the placeholder while it is loading. */
  rows?: number;
  children: (data: T) => ReactNode;
}): ReactNode {
  if (query.isPending) return <Loading {...(rows ? { rows } : {})} />;
  if (query.error) return <ErrorView error={query.error} onRetry={() => void query.refetch()} />;
  return children(query.data);
}

export interface Page {
  cursor?: string | null;
}

/** Read a list page by page. */
export function usePages<T extends Page>(
  key: QueryKey,
  url: string,
  query: RequestOptions["query"] = {},
  isEnabled = true,
) {
  return useInfiniteQuery({
    queryKey: [...key, query],
    enabled: isEnabled,
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) =>
      call<T>("GET", url, { query: { ...query, cursor: pageParam }, signal }),
    getNextPageParam: (page: T) => page.cursor ?? undefined,
  });
}

export interface PagedListProps<P, I> {
  query: UseInfiniteQueryResult<{ pages: P[] }>;
  items: (page: P) => readonly I[];
  empty: { title: string; hint?: string };
  children: (items: I[]) => ReactNode;
}

/** Show the items of all loaded pages, and a button that loads the next page. */
export function PagedList<P, I>({ query, items, empty, children }: PagedListProps<P, I>): ReactNode {
  if (query.isPending) return <Loading />;
  if (query.error) return <ErrorView error={query.error} onRetry={() => void query.refetch()} />;
  const all = query.data.pages.flatMap((page) => [...items(page)]);
  return (
    <>
      {all.length ? children(all) : <Empty title={empty.title}>{empty.hint}</Empty>}
      {query.hasNextPage && (
        <button
          type="button"
          className="more"
          disabled={query.isFetchingNextPage}
          onClick={() => void query.fetchNextPage()}
        >
          {query.isFetchingNextPage ? "Loading …" : "Load more"}
        </button>
      )}
    </>
  );
}
