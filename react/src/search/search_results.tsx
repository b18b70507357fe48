import type { SearchResult as Found } from "@tidings/client";
import { type ReactNode, useCallback, useEffect, useMemo, useState } from "react";
import { useSettings } from "../hooks/client.ts";
import type { SearchState } from "../hooks/search.ts";
import { EmptyState, ErrorState, LoadingState } from "../parts/states.tsx";
import { VirtualList } from "../parts/virtual_list.tsx";
import { useComponent } from "../slots.tsx";
import { SearchResult } from "./search_result.tsx";

export interface SearchResultsProps {
  found: SearchState;
  onSelect: (result: Found) => void;
}

/** The messages that were found, or why there are none. */
export function SearchResults({ found, onSelect }: SearchResultsProps): ReactNode {
  const { locale, announce } = useSettings();
  const { results, isLoading, hasMore, error, retry } = found;
  const Empty = useComponent("EmptyState", EmptyState);
  const Failed = useComponent("ErrorState", ErrorState);
  const Loading = useComponent("LoadingState", LoadingState);
  const isDone = !isLoading && !error;
  useEffect(() => {
    if (isDone) announce(locale.text("searchCount", { count: results.length }));
  }, [isDone, results.length, announce, locale]);
  if (results.length > 0) return <FoundMessages found={found} onSelect={onSelect} />;
  if (isLoading) return <Loading shape="rows" />;
  if (error?.code === "search_off")
    return <Empty icon="search" title={locale.text("searchOff")} hint={locale.text("searchOffHint")} />;
  // A query that the server cannot read, such as a single accent, has no results.
  if (error && error.code !== "request_invalid")
    return <Failed title={locale.text("searchFailed")} onRetry={retry} />;
  if (hasMore) return <Loading shape="rows" />;
  return <Empty icon="search" title={locale.text("searchNothing")} hint={locale.text("searchNothingHint")} />;
}

function FoundMessages({ found, onSelect }: SearchResultsProps) {
  const { locale } = useSettings();
  const { results, error, loadMore, retry } = found;
  const [selected, setSelected] = useState<string>();
  const Result = useComponent("SearchResult", SearchResult);
  const byId = useMemo(() => new Map(results.map((each) => [each.message.id, each])), [results]);
  const ids = useMemo(() => [...byId.keys()], [byId]);
  const select = useCallback(
    (result: Found) => {
      setSelected(result.message.id);
      onSelect(result);
    },
    [onSelect],
  );
  const renderItem = useCallback(
    (id: string, isTabStop: boolean) => {
      const result = byId.get(id) as Found;
      return <Result result={result} isSelected={id === selected} isTabStop={isTabStop} onSelect={select} />;
    },
    [byId, selected, select, Result],
  );
  return (
    <>
      <VirtualList
        ids={ids}
        label={locale.text("searchResults")}
        current={selected}
        renderItem={renderItem}
        onEndNear={loadMore}
      />
      {error && (
        <p className="td-search-more">
          {locale.text("searchFailed")}
          <button type="button" className="td-link" onClick={retry}>
            {locale.text("retry")}
          </button>
        </p>
      )}
    </>
  );
}
