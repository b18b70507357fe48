import type { ReactNode } from "react";
import { useSettings } from "../hooks/client.ts";
import { useInvites } from "../hooks/moderation.ts";
import { useUserNames } from "../hooks/user.ts";
import { Root } from "../parts/root.tsx";

/** The invites of the user to groups. Shows nothing without one. */
export function InviteList(): ReactNode {
  const { locale } = useSettings();
  const nameOf = useUserNames();
  const { invites, error, accept, decline } = useInvites();
  if (invites.length === 0) return null;
  return (
    <Root className="td-invites" role="region" aria-label={locale.text("invites")}>
      {error && <p className="td-failed">{locale.text("actionFailed")}</p>}
      <ul>
        {invites.map(({ chat, invited_by }) => (
          <li key={chat}>
            <span dir="auto">{locale.text("invitedBy", { name: nameOf(invited_by) })}</span>
            <button type="button" className="td-primary" onClick={() => void accept(chat)}>
              {locale.text("acceptInvite")}
            </button>
            <button type="button" onClick={() => void decline(chat)}>
              {locale.text("declineInvite")}
            </button>
          </li>
        ))}
      </ul>
    </Root>
  );
}
