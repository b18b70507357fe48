export interface Webhook {
  id: string;
  url: string;
  events: string[];
  description: string;
  status: "enabled" | "disabled";
  disabled_reason?: string;
  disabled_at?: string;
  created_at: string;
}

export interface Delivery {
  event: string;
  type: string;
  at: string;
  attempt: number;
  outcome: "delivered" | "retrying" | "failed";
  status?: number;
  latency_ms: number;
  reason?: string;
  next_at?: string;
  chat?: string;
  sequence?: number;
}

export interface Queued {
  kind: "run" | "replayed" | "event" | "replay";
  key: string;
  type?: string;
  first: number;
  last: number;
  attempts: number;
  next_at: string;
  reason?: string;
}

export interface TestAnswer {
  is_delivered: boolean;
  status?: number;
  latency_ms: number;
  reason?: string;
}
