import type { ReactNode } from "react";
import { useSettings } from "../hooks/client.ts";
import { Icon, type IconName } from "./icon.tsx";

export interface EmptyStateProps {
  icon: IconName;
  title: string;
  hint?: string | undefined;
}

/** The content of a list without items. */
export function EmptyState({ icon, title, hint }: EmptyStateProps): ReactNode {
  return (
    <div className="td-state">
      <span className="td-state-icon">
        <Icon name={icon} />
      </span>
      <p className="td-state-title">{title}</p>
      {hint && <p className="td-state-hint">{hint}</p>}
    </div>
  );
}

export interface ErrorStateProps {
  title: string;
  onRetry: () => void;
}

/** The content of a list that could not be loaded. */
export function ErrorState({ title, onRetry }: ErrorStateProps): ReactNode {
  const { locale } = useSettings();
  return (
    <div className="td-state" data-kind="error">
      <span className="td-state-icon">
        <Icon name="alert" />
      </span>
      <p className="td-state-title">{title}</p>
      <button type="button" className="td-button" onClick={onRetry}>
        {locale.text("retry")}
      </button>
    </div>
  );
}

export interface LoadingStateProps {
  /** The shape of the rows that will appear. */
  shape: "rows" | "messages";
}

/** Grey shapes in place of rows that are being loaded. */
export function LoadingState({ shape }: LoadingStateProps): ReactNode {
  const { locale } = useSettings();
  return (
    <div className="td-skeleton" data-shape={shape}>
      <span className="td-hidden">{locale.text("loading")}</span>
      {[0, 1, 2, 3, 4, 5].map((row) => (
        <div key={row} className="td-skeleton-row" aria-hidden="true">
          <span className="td-skeleton-avatar" />
          <span className="td-skeleton-lines">
            <span />
            <span />
          </span>
        </div>
      ))}
    </div>
  );
}
