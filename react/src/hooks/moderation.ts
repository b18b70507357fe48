import { type Invite, Moderation, type SendRestrictions } from "@tidings/client";
import { useCallback, useEffect, useState } from "react";
import { useClient } from "./client.ts";
import { perClient } from "./per_client.ts";

const moderationOf = perClient((client) => new Moderation(client));
const SECOND_MS = 1_000;

/** Return reports and invites of the client, or `undefined` if it has no address of the REST API (`api`). */
export function useModeration(): Moderation | undefined {
  return moderationOf(useClient());
}

/** Why the user cannot send now. `until`: when it ends, in milliseconds. */
export interface SendRestriction {
  readonly kind: "frozen" | "muted" | "slow";
  readonly until?: number | undefined;
}

/** Return why the user cannot send in a chat now, and follow its rules, the user's mutes and slow mode. */
export function useSendRestriction(chat: string): SendRestriction | undefined {
  const restrictions = useRestrictions(chat);
  const [now, setNow] = useState(() => Date.now());
  const found = restrictions && restrictionAt(restrictions, now);
  const until = found?.until;
  useEffect(() => {
    if (until === undefined) return;
    const timer = setInterval(() => setNow(Date.now()), SECOND_MS);
    return () => clearInterval(timer);
  }, [until]);
  return found;
}

function restrictionAt(found: SendRestrictions, now: number): SendRestriction | undefined {
  const { isMuted, mutedUntil, isFrozen, maySendAt } = found;
  if (isMuted && (mutedUntil === undefined || now < mutedUntil)) return { kind: "muted", until: mutedUntil };
  if (isFrozen) return { kind: "frozen" };
  if (maySendAt !== undefined && now < maySendAt) return { kind: "slow", until: maySendAt };
  return undefined;
}

/** Read the restrictions, and again after each entry that changes them. A failed read restricts nothing. */
function useRestrictions(chat: string): SendRestrictions | undefined {
  const client = useClient();
  const moderation = useModeration();
  const [found, setFound] = useState<{ chat: string; restrictions: SendRestrictions }>();
  const load = useCallback(() => {
    moderation?.restrictions(chat).then(
      (restrictions) => setFound({ chat, restrictions }),
      () => setFound(undefined),
    );
  }, [moderation, chat]);
  useEffect(() => {
    if (!moderation) return;
    load();
    const offChat = client.on("chat", (event) => {
      if (event.chat === chat && ["rules", "mute", "role", "join"].includes(event.entry.kind)) load();
    });
    const offMessage = client.on("message", (event) => {
      // The sequence of the own message counts in slow mode, also if another device sent it.
      if (event.chat === chat && event.entry.by === client.options.user) setFound((before) => paced(before));
    });
    return () => {
      offChat();
      offMessage();
    };
  }, [client, moderation, chat, load]);
  return found?.chat === chat ? found.restrictions : undefined;
}

type Found = { chat: string; restrictions: SendRestrictions };

function paced(before: Found | undefined): Found | undefined {
  if (!before?.restrictions.slowModeS) return before;
  const maySendAt = Date.now() + before.restrictions.slowModeS * SECOND_MS;
  return { ...before, restrictions: { ...before.restrictions, maySendAt } };
}

export interface InvitesState {
  readonly invites: readonly Invite[];
  readonly error: Error | undefined;
  readonly accept: (chat: string) => Promise<void>;
  readonly decline: (chat: string) => Promise<void>;
}

/** Return the invites of the user. Both functions remove the invite from the list. */
export function useInvites(): InvitesState {
  const moderation = useModeration();
  const [invites, setInvites] = useState<readonly Invite[]>([]);
  const [error, setError] = useState<Error>();
  useEffect(() => {
    moderation?.invites().then(setInvites, setError);
  }, [moderation]);
  const answer = useCallback(async (chat: string, send: ((chat: string) => Promise<void>) | undefined) => {
    try {
      await send?.(chat);
      setInvites((before) => before.filter((each) => each.chat !== chat));
      setError(undefined);
    } catch (failed) {
      setError(failed as Error);
    }
  }, []);
  return {
    invites,
    error,
    accept: (chat) => answer(chat, moderation && ((id) => moderation.accept(id))),
    decline: (chat) => answer(chat, moderation && ((id) => moderation.decline(id))),
  };
}
