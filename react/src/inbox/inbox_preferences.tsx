import { type ReactNode, useId, useState } from "react";
import { useSettings } from "../hooks/client.ts";
import { useInboxPreferences } from "../hooks/inbox_preferences.ts";
import { Root } from "../parts/root.tsx";
import { ErrorState, LoadingState } from "../parts/states.tsx";
import { useComponent } from "../slots.tsx";
import type { InboxCategory } from "./filters.tsx";

/** A channel that notifications take. */
export type InboxChannel = "inbox" | "push" | "email" | "webhook";

export interface InboxPreferencesProps {
  /** Name of the inbox. Default: `default`. */
  inbox?: string | undefined;
  /** The categories to show, with their names. Default: all categories of the inbox, with their ids. */
  categories?: readonly InboxCategory[] | undefined;
  /** The channels to show. Default: inbox, push and e-mail. */
  channels?: readonly InboxChannel[] | undefined;
  className?: string | undefined;
}

interface PreferenceRow {
  readonly id: string;
  readonly label: string;
  readonly isCritical: boolean;
  readonly channels: Readonly<Record<string, boolean>>;
  readonly change: (channels: Record<string, boolean>) => Promise<void>;
}

const CHANNELS: readonly InboxChannel[] = ["inbox", "push", "email"];
const TEXT_KEYS = {
  inbox: "channelInbox",
  push: "channelPush",
  email: "channelEmail",
  webhook: "channelWebhook",
} as const;

/** A table in which the user switches channels on and off, for all notifications and for each category. */
export function InboxPreferences(props: InboxPreferencesProps): ReactNode {
  const { channels = CHANNELS, className = "" } = props;
  const { locale, announce } = useSettings();
  const Failed = useComponent("ErrorState", ErrorState);
  const Loading = useComponent("LoadingState", LoadingState);
  const [hasFailed, setFailed] = useState(false);
  const titleId = useId();
  const { rows, error, reload } = useRows(props);
  const attempt = (action: Promise<void>) => {
    setFailed(false);
    action.catch(() => {
      setFailed(true);
      announce(locale.text("actionFailed"));
    });
  };
  return (
    <Root className={`td-preferences ${className}`}>
      <section aria-labelledby={titleId}>
        <h2 id={titleId} className="td-inbox-title">
          {locale.text("preferences")}
        </h2>
        {hasFailed && <p className="td-banner">{locale.text("actionFailed")}</p>}
        {!rows && !error && <Loading shape="rows" />}
        {!rows && !!error && <Failed title={locale.text("preferencesFailed")} onRetry={reload} />}
        {rows && <PreferenceTable rows={rows} channels={channels} attempt={attempt} titleId={titleId} />}
      </section>
    </Root>
  );
}

function useRows({ inbox, categories }: InboxPreferencesProps) {
  const { locale } = useSettings();
  const { preferences, error, reload, change } = useInboxPreferences({ inbox });
  const labels = categories && new Map(categories.map(({ id, label }) => [id, label]));
  const rows = preferences && [
    {
      id: "",
      label: locale.text("allNotifications"),
      isCritical: false,
      channels: preferences.channels,
      change: (channels: Record<string, boolean>) => change({ channels }),
    },
    ...preferences.categories
      .filter(({ name }) => !labels || labels.has(name))
      .map(({ name, is_critical, channels }) => ({
        id: name,
        label: labels?.get(name) ?? name,
        isCritical: is_critical,
        channels,
        change: (chosen: Record<string, boolean>) => change({ categories: { [name]: chosen } }),
      })),
  ];
  return { rows, error, reload };
}

interface PreferenceTableProps {
  rows: readonly PreferenceRow[];
  channels: readonly InboxChannel[];
  attempt: (action: Promise<void>) => void;
  titleId: string;
}

function PreferenceTable({ rows, channels, attempt, titleId }: PreferenceTableProps) {
  const { locale } = useSettings();
  return (
    <table className="td-preferences-table" aria-labelledby={titleId}>
      <thead>
        <tr>
          <th scope="col">
            <span className="td-hidden">{locale.text("category")}</span>
          </th>
          {channels.map((channel) => (
            <th key={channel} scope="col">
              {locale.text(TEXT_KEYS[channel])}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={row.id}>
            <th scope="row">
              {row.label}
              {row.isCritical && <span className="td-preferences-note">{locale.text("required")}</span>}
            </th>
            {channels.map((channel) => (
              <td key={channel}>
                <input
                  type="checkbox"
                  className="td-switch"
                  aria-label={`${row.label}: ${locale.text(TEXT_KEYS[channel])}`}
                  checked={row.channels[channel] ?? false}
                  disabled={row.isCritical}
                  onChange={(event) => attempt(row.change({ [channel]: event.currentTarget.checked }))}
                />
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
