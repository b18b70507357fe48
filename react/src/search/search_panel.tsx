import type { SearchResult as Found } from "@tidings/client";
import { type KeyboardEvent, type ReactNode, useCallback, useEffect, useId, useRef, useState } from "react";
import { useSettings } from "../hooks/client.ts";
import { useSearch } from "../hooks/search.ts";
import { Icon } from "../parts/icon.tsx";
import { IconButton } from "../parts/icon_button.tsx";
import { EmptyState } from "../parts/states.tsx";
import { useComponent } from "../slots.tsx";
import { SearchFilters } from "./search_filters.tsx";
import { isFiltered, NO_FIELDS, type SearchFields, useSettledQuery } from "./search_query.ts";
import { SearchResults } from "./search_results.tsx";

export interface SearchPanelProps {
  /** Search in this chat at first. The user can choose another one. */
  chat?: string | undefined;
  /** Called with the message that the user opens. */
  onSelect: (result: Found) => void;
  onClose?: (() => void) | undefined;
}

/** A search in messages: a field with filters, and the messages that were found, newest first. */
export function SearchPanel({ chat = "", onSelect, onClose }: SearchPanelProps): ReactNode {
  const { locale } = useSettings();
  const [fields, setFields] = useState<SearchFields>({ ...NO_FIELDS, chat });
  const query = useSettledQuery(fields);
  const found = useSearch(query);
  const change = useCallback(
    (changed: Partial<SearchFields>) => setFields((before) => ({ ...before, ...changed })),
    [],
  );
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Escape" || !onClose) return;
    event.preventDefault();
    onClose();
  };
  const Empty = useComponent("EmptyState", EmptyState);
  return (
    <search className="td-search" onKeyDown={onKeyDown}>
      <SearchBar fields={fields} onChange={change} onClose={onClose} />
      {query ? (
        <SearchResults found={found} onSelect={onSelect} />
      ) : (
        <Empty icon="search" title={locale.text("searchStart")} hint={locale.text("searchStartHint")} />
      )}
    </search>
  );
}

interface SearchBarProps {
  fields: SearchFields;
  onChange: (changed: Partial<SearchFields>) => void;
  onClose: (() => void) | undefined;
}

/** The field for words, and the filters, which are hidden at first. */
function SearchBar({ fields, onChange, onClose }: SearchBarProps) {
  const { locale } = useSettings();
  const [hasFilters, setHasFilters] = useState(fields.chat !== "");
  const filtersId = useId();
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  return (
    <>
      <div className="td-search-bar">
        {onClose && <IconButton icon="back" label={locale.text("searchClose")} onClick={onClose} />}
        <span className="td-search-box">
          <Icon name="search" />
          <input
            ref={field}
            type="search"
            className="td-search-field"
            aria-label={locale.text("search")}
            placeholder={locale.text("search")}
            maxLength={250}
            autoComplete="off"
            enterKeyHint="search"
            value={fields.text}
            onChange={({ target }) => onChange({ text: target.value })}
          />
        </span>
        <IconButton
          icon="filter"
          label={locale.text("searchFilters")}
          aria-expanded={hasFilters}
          aria-controls={filtersId}
          data-active={isFiltered(fields) || undefined}
          onClick={() => setHasFilters(!hasFilters)}
        />
      </div>
      <div id={filtersId}>{hasFilters && <SearchFilters fields={fields} onChange={onChange} />}</div>
    </>
  );
}
