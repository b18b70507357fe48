import { MessageSearch, type SearchQuery, type SearchResult, type TidingsError } from "@tidings/client";
import { useCallback, useEffect, useRef, useState } from "react";
import { useClient } from "./client.ts";
import { perClient } from "./per_client.ts";

const searchOf = perClient((client) => new MessageSearch(client));

/** Return the search of the client, or `undefined` if it has no address of the REST API (`api`). */
export function useMessageSearch(): MessageSearch | undefined {
  return searchOf(useClient());
}

export interface SearchState {
  /** Newest first. */
  readonly results: readonly SearchResult[];
  readonly isLoading: boolean;
  readonly hasMore: boolean;
  readonly error: TidingsError | undefined;
  readonly loadMore: () => void;
  /** Search again, after an error. */
  readonly retry: () => void;
}

interface FoundPages {
  /** The query of the last load. Until its answer, the results of the query before are kept: the page does not flicker. */
  readonly query: SearchQuery | undefined;
  readonly results: readonly SearchResult[];
  readonly cursor?: string | undefined;
  readonly isLoading?: boolean;
  readonly error?: TidingsError;
}

const NOTHING: FoundPages = { query: undefined, results: [] };

/**
 * Search messages, newest first. Pass a stable query: a new object searches again. `undefined` searches nothing.
 *
 * The answer to a former query is dropped. Each search is charged to the user's rate limit, so wait until the user stops
 * typing.
 */
export function useSearch(query: SearchQuery | undefined): SearchState {
  const { pages, load, repeat } = useFoundPages(query);
  const { results, cursor, error } = pages;
  const isLoading = pages.isLoading === true || pages.query !== query;
  const canLoadMore = cursor !== undefined && !isLoading && !error;
  const loadMore = useCallback(() => {
    if (canLoadMore) load(results, cursor);
  }, [load, results, cursor, canLoadMore]);
  // A page can be empty and have a cursor: the user may not read its candidates.
  useEffect(() => {
    if (results.length === 0) loadMore();
  }, [results, loadMore]);
  const retry = useCallback(() => {
    if (cursor === undefined) repeat();
    else load(results, cursor);
  }, [load, repeat, results, cursor]);
  return { results, isLoading, hasMore: cursor !== undefined, error, loadMore, retry };
}

/** Return the pages of the query, a function that loads one after those before, and one that starts again. */
function useFoundPages(query: SearchQuery | undefined) {
  const search = useMessageSearch();
  const [pages, setPages] = useState(NOTHING);
  const [tries, setTries] = useState(0);
  const loading = useRef<AbortController>(undefined);

  const load = useCallback(
    (before: readonly SearchResult[], cursor?: string) => {
      loading.current?.abort();
      if (!search || !query) {
        setPages(NOTHING);
        return;
      }
      const started = new AbortController();
      const { signal } = started;
      loading.current = started;
      setPages(({ results }) => ({ query, results, cursor, isLoading: true }));
      search.find(query, { cursor, signal }).then(
        (page) => {
          if (!signal.aborted)
            setPages({ query, results: [...before, ...page.results], cursor: page.cursor });
        },
        (error: TidingsError) => {
          if (!signal.aborted) setPages({ query, results: before, cursor, error });
        },
      );
    },
    [search, query],
  );
  // biome-ignore lint/correctness/useExhaustiveDependencies: `tries` searches again.
  useEffect(() => {
    load([]);
    return () => loading.current?.abort();
  }, [load, tries]);
  const repeat = useCallback(() => setTries((before) => before + 1), []);
  return { pages, load, repeat };
}
