/** Where the parts of the components are in the page. */

export const PARTS = {
  badge: ".td-bell .td-badge",
  bell: ".td-bell",
  "chat-row": ".td-chat-row",
  composer: ".td-composer-field",
  message: "article[data-td-key]",
  messages: ".td-log",
  "mark-all": ".td-inbox-header .td-link",
  notification: ".td-notification",
  found: ".td-found",
  typing: ".td-typing",
} as const;

export type PartName = keyof typeof PARTS;

/** The row of a chat in the chat list. */
export function chatRow(chat: string): string {
  return `[data-td-id="${chat}"] ${PARTS["chat-row"]}`;
}
