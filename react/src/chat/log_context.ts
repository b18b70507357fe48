import { createContext } from "react";

/** The actions that a message requests from the log that shows it. */
export interface LogActions {
  /** Show a message and highlight it briefly. It is loaded if it is not in the log. */
  readonly jumpTo: (sequence: number) => void;
}

export const LogContext = /* @__PURE__ */ createContext<LogActions>({ jumpTo: () => {} });
