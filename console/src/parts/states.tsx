import type { ReactNode } from "react";
import { Problem } from "../api.ts";

/** Placeholder of content that is being loaded. `rows` is about as high as the content, so that the page does not move. */
export function Loading({ rows = 3 }: { rows?: number }): ReactNode {
  return (
    <div className="loading" role="status">
      <span className="hidden">Loading</span>
      {Array.from({ length: rows }, (_, row) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the rows are all the same
        <span key={row} aria-hidden="true" />
      ))}
    </div>
  );
}

export function Empty({ title, children }: { title: string; children?: ReactNode }): ReactNode {
  return (
    <div className="empty">
      <p>
        <strong>{title}</strong>
      </p>
      {children && <p>{children}</p>}
    </div>
  );
}

export function Notice({
  kind,
  children,
}: {
  kind: "info" | "error" | "good";
  children: ReactNode;
}): ReactNode {
  return (
    <div className="notice" data-kind={kind} role={kind === "error" ? "alert" : "status"}>
      {children}
    </div>
  );
}

/** The reason why content could not be loaded, and what to do. */
export function ErrorView({ error, onRetry }: { error: Error; onRetry?: () => void }): ReactNode {
  const problem = error instanceof Problem ? error : undefined;
  return (
    <Notice kind="error">
      <p>{problem ? error.message : "The console's server does not answer."}</p>
      {problem?.hint && <p>{problem.hint}</p>}
      {problem?.requestId && <p className="hint">Request {problem.requestId}</p>}
      {onRetry && (
        <button type="button" onClick={onRetry}>
          Try again
        </button>
      )}
    </Notice>
  );
}
