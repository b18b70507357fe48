/** Answers of the operations on processes, dead letters and settings. */

import type { Page } from "../parts/query_view.tsx";

export interface Component {
  ok: boolean;
  state: string;
  reason?: string;
}

export interface Process {
  address: string;
  kind?: string;
  instance?: string;
  phase?: string;
  is_ready?: boolean;
  problems?: string[];
  components?: Record<string, Component>;
  seen_at?: string;
  error?: string;
}

export interface Series {
  name: string;
  labels: Record<string, string>;
  points: [number, number][];
}

export interface MetricName {
  name: string;
  kind: "rate" | "gauge";
  help: string;
}

export interface Setting {
  name: string;
  value: string;
  source: string;
}

/** A dead-letter topic. `waiting` counts the records that were neither replayed nor dropped. */
export interface DeadLetterTopic {
  topic: string;
  replays_to: string;
  waiting: number;
}

/** `source` is the position in the topic where the record could not be decoded. */
export interface DeadLetter {
  topic: string;
  partition: number;
  offset: number;
  dead_since: string;
  reason: string;
  source: string;
  key?: string;
  bytes: number;
  headers: string[];
  state: "waiting" | "replayed" | "dropped";
  handled_at?: string;
}

export interface DeadLetterList extends Page {
  letters: DeadLetter[];
}

/** The first bytes of a dead letter. */
export interface DeadLetterContent {
  encoding: "text" | "base64";
  content: string;
  is_complete: boolean;
}

export interface Gateway {
  process: Process;
  open_connections?: number;
  devices?: number;
}

export interface GatewayList {
  gateways: Gateway[];
  /** Whether the console has the token that gateways require. */
  may_drain: boolean;
}

/** A finding of `tidings doctor`. */
export interface Finding {
  check: string;
  state: "ok" | "warning" | "wrong" | "skipped";
  found: string;
  why?: string;
  todo?: string;
  details?: string[];
}

export interface FindingList {
  checked_at: string;
  findings: Finding[];
}
