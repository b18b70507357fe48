import { useLayoutEffect, useState } from "react";
import { firstKeys, nextKeys, type ShownKeys } from "./key_changes.ts";

/** Return the keys to render. Changes at both ends are rendered one after the other, before the browser paints. */
export function useShownKeys(target: readonly string[]): ShownKeys {
  const [state, setState] = useState(() => firstKeys(target));
  let shown = state;
  if (state.target !== target) {
    shown = nextKeys(state, target);
    setState(shown);
  }
  useLayoutEffect(() => {
    if (shown.keys !== shown.target) setState(nextKeys(shown, shown.target));
  }, [shown]);
  return shown;
}
