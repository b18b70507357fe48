import type { InboxPreferences, PreferenceChanges } from "@tidings/client";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { useClient } from "./client.ts";

export interface InboxPreferencesState {
  /** The channels of each category, or `undefined` until the server has answered. */
  readonly preferences: InboxPreferences | undefined;
  readonly error: unknown;
  /** Request the preferences again, after an error. */
  readonly reload: () => void;
  /** Change choices. They are shown at once, and undone if the server refuses. Rejects with a `TidingsError`. */
  readonly change: (changes: PreferenceChanges) => Promise<void>;
}

/** Return the channels that the user's notifications take, and a function that changes them. */
export function useInboxPreferences({
  inbox: name,
}: {
  inbox?: string | undefined;
} = {}): InboxPreferencesState {
  const client = useClient();
  const inbox = client.inbox(name);
  const [confirmed, setConfirmed] = useState<InboxPreferences>();
  const [pending, setPending] = useState<readonly PreferenceChanges[]>([]);
  const [error, setError] = useState<unknown>();
  const last = useRef<Promise<unknown>>(Promise.resolve());
  const reload = useCallback(() => {
    setError(undefined);
    inbox.preferences().then(setConfirmed, setError);
  }, [inbox]);
  useEffect(reload, [reload]);
  const change = useCallback(
    async (changes: PreferenceChanges) => {
      setPending((before) => [...before, changes]);
      // One at a time: the answer to an earlier change must not replace that to a later one.
      const sent = last.current.then(() => inbox.changePreferences(changes));
      last.current = sent.catch(() => {});
      try {
        setConfirmed(await sent);
      } finally {
        setPending((before) => before.filter((each) => each !== changes));
      }
    },
    [inbox],
  );
  const preferences = useMemo(
    () => confirmed && pending.reduce(withChanges, confirmed),
    [confirmed, pending],
  );
  return useMemo(() => ({ preferences, error, reload, change }), [preferences, error, reload, change]);
}

/** Return the preferences as they will be. A removed choice shows only when the server has answered. */
function withChanges(before: InboxPreferences, changes: PreferenceChanges): InboxPreferences {
  const general = chosenIn(changes.channels);
  const categories = before.categories.map((category) => {
    if (category.is_critical) return category;
    const chosen = { ...category.chosen, ...chosenIn(changes.categories?.[category.name]) };
    return { ...category, chosen, channels: { ...category.channels, ...general, ...chosen } };
  });
  const channels = { ...before.channels, ...general };
  return { ...before, channels, chosen: { ...before.chosen, ...general }, categories };
}

function chosenIn(changes: Readonly<Record<string, boolean | null>> = {}): Record<string, boolean> {
  return Object.fromEntries(
    Object.entries(changes).flatMap(([name, isOn]) => (isOn === null ? [] : [[name, isOn]])),
  );
}
