/** The server of `tidings dev`: addresses, tokens of the demo users, and faults. */

export interface DemoUser {
  id: string;
  name: string;
}

export interface Session {
  api: string;
  gateway: string;
  /** Absent if the installation has no attachments. */
  media?: string;
  /** Whether the tenant uses search: `tidings search enable dev`. */
  search: boolean;
  users: DemoUser[];
  chats: { direct: string; group: string };
  inbox: string;
}

export type ServiceState = "running" | "starting" | "stopped" | "external";
export type Status = Record<"gateway" | "redis" | "kafka", ServiceState>;
export type Fault = "kill-gateway" | "empty-redis" | "stop-kafka" | "start-kafka";

/** The token of this start of `tidings dev`, from the address. */
const startToken = location.hash.slice(1);

async function request<T>(path: string, init: RequestInit = {}): Promise<T> {
  const headers = { Authorization: `Bearer ${startToken}` };
  const response = await fetch(`/demo/${path}`, { ...init, headers });
  const body = await response.json();
  if (!response.ok) throw new Error(body.detail ?? `The server answered with ${response.status}.`);
  return body;
}

export const fetchSession = () => request<Session>("session");
export const fetchStatus = () => request<Status>("status");
export const injectFault = (fault: Fault) => request<Status>(`faults/${fault}`, { method: "POST" });
export const sendNotification = () => request<unknown>("notifications", { method: "POST" });

export async function fetchToken(user: string): Promise<string> {
  return (await request<{ token: string }>(`token?user=${encodeURIComponent(user)}`)).token;
}
