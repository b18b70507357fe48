import type { ReactNode } from "react";
import { useSettings } from "../hooks/client.ts";
import { Icon } from "../parts/icon.tsx";

export interface JumpToNewestProps {
  /** How many messages arrived since the user left the bottom. */
  count: number;
  onJump: () => void;
}

/** A button above the composer that returns to the newest message. */
export function JumpToNewest({ count, onJump }: JumpToNewestProps): ReactNode {
  const { locale } = useSettings();
  const label = count > 0 ? locale.text("newCount", { count }) : locale.text("jumpToNewest");
  return (
    <button
      type="button"
      className="td-jump"
      data-count={count > 0 || undefined}
      aria-label={count > 0 ? `${label}. ${locale.text("jumpToNewest")}` : label}
      onClick={onJump}
    >
      {count > 0 && <span>{label}</span>}
      <Icon name="down" />
    </button>
  );
}
