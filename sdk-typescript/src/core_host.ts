/** The options and the tab of the client that holds the connection. */
import type { ChatList } from "./chat_list.ts";
import type { Credentials } from "./credentials.ts";
import type { TidingsError } from "./errors.ts";
import type { TabEvent } from "./events.ts";
import type { DialOptions } from "./session.ts";

export interface CoreOptions {
  readonly dial: DialOptions;
  readonly credentials: Credentials;
  readonly user: string;
  readonly device: string | undefined;
  readonly maxOutbox: number;
}

/** The tab of this core: its chat list is stored, and it receives the events first. */
export interface CoreHost {
  readonly chats: ChatList;
  emit(event: TabEvent): void;
  /** The client cannot continue. */
  stopped(error: TidingsError): void;
}
