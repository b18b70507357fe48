/** Options of the test page, in the fragment of the URL, so that tokens are in no server log. */
export interface PageOptions {
  url: string;
  token: string;
  /** The address of the REST API, for attachments and search. */
  api?: string;
  user: string;
  view?: "chat" | "inbox" | "history";
  locale?: "en" | "de" | "ar";
  theme?: "light" | "dark" | "auto";
  chat?: string;
  inbox?: string;
  store?: "memory" | "indexeddb";
  /** Count the renders of message rows in `window.renderedRows`. */
  countsRenders?: boolean;
}

export function readOptions(fragment: string): PageOptions {
  return JSON.parse(decodeURIComponent(fragment.slice(1)));
}

export function fragmentOf(options: PageOptions): string {
  return `#${encodeURIComponent(JSON.stringify(options))}`;
}
