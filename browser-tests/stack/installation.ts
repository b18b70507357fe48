/** A complete installation of Tidings, started by `tidings dev` in a directory of its own, on free ports. */

import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { existsSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const READY_WITHIN_S = 240;
const STOP_WITHIN_S = 40;
const STARTS = 3;

/** The faster of the two DynamoDB engines, if this machine has built it. */
const CACHE = process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache");
const ENGINE = existsSync(join(CACHE, "tidings/dynoxide")) ? { TIDINGS_ENGINES_DYNAMO: "dynoxide" } : {};
/** Signs sessions of the console, so that a test can begin one. */
const SETTINGS = { ...ENGINE, TIDINGS_API_CURSOR_SECRET: "the secret of the tests in a browser" };

const PUBLISH = `
import sys
from confluent_kafka import Producer
from tidings.app.settings.loader import load
from tidings.app.wiring.options import kafka_config
config = kafka_config(load().settings)
producer = Producer(config.admin_config())
producer.produce(config.topic(sys.argv[1]), sys.argv[3].encode(), sys.argv[2].encode())
sys.exit(producer.flush(30))
`;

const BEGIN_SESSION = `
import asyncio, sys
from tidings.app.settings.loader import load
from tidings.app.wiring.engine_clients import open_tables
from tidings.app.wiring.options import cursor_secrets
from tidings.kernel.clock import SystemClock
from tidings.operators.model import Operator, Role
from tidings.operators.sessions import OperatorSessions
from tidings.operators.store import DynamoOperatorSessionStore

async def begin():
    operator = Operator(id="oidc:" + sys.argv[1], role=Role(sys.argv[1]), tenants=frozenset({sys.argv[2]}))
    settings = load().settings
    async with open_tables(settings.dynamo) as client:
        store = DynamoOperatorSessionStore(client, cursor_secrets(settings)[0])
        sessions = OperatorSessions(store, SystemClock(), life_s=600, bootstrap_key=None)
        return (await sessions.begin(operator)).token.reveal()

print(asyncio.run(begin()))
`;

/** The content of `.tidings/dev/client.json`. */
export interface ClientFile {
  tenant: string;
  api: string;
  gateway: string;
  /** The address of the demo page, with its token. */
  page: string;
  /** The address of the operator console, and the key that signs in as its owner. */
  console: string;
  console_key: string;
  users: Record<string, { name: string; token: string }>;
  chats: { direct: string; group: string };
  server_key: string;
}

/** Where an installation runs. It can be passed to another process as JSON. */
export interface InstallationHandle {
  directory: string;
  pid: number;
  /** How long the start took, in seconds, if this process measured it. */
  readyS?: number | undefined;
}

export class Installation {
  readonly directory: string;
  readonly pid: number;
  readyS: number | undefined;
  #process: ChildProcess | undefined;

  private constructor(handle: InstallationHandle, process?: ChildProcess) {
    this.directory = handle.directory;
    this.pid = handle.pid;
    this.readyS = handle.readyS;
    this.#process = process;
  }

  static async start(extra: Record<string, string> = {}): Promise<Installation> {
    const directory = mkdtempSync(join(tmpdir(), "tidings-web-"));
    for (let attempt = 1; ; attempt++) {
      try {
        return await Installation.#startIn(directory, extra);
      } catch (error) {
        // On a busy machine the broker may lose its session while topics are created. `tidings dev` can be repeated.
        if (attempt === STARTS || !String(error).includes("topics_failed")) throw error;
        console.error(`Starting \`tidings dev\` again: ${error}`);
      }
    }
  }

  static async #startIn(directory: string, extra: Record<string, string>): Promise<Installation> {
    const began = performance.now();
    const log = openSync(join(directory, "dev.log"), "w");
    const child = spawn("tidings", ["dev", "--no-reload"], {
      cwd: directory,
      env: { ...environment(), TIDINGS_API_PORT: "0", TIDINGS_GATEWAY_PORT: "0", ...extra },
      stdio: ["ignore", log, log],
    });
    const installation = new Installation({ directory, pid: child.pid ?? 0 }, child);
    for (let waited = 0; !existsSync(installation.#clientFile); waited += 0.25) {
      if (child.exitCode !== null || waited > READY_WITHIN_S) throw new Error(installation.#startFailure());
      await sleep(250);
    }
    installation.readyS = (performance.now() - began) / 1000;
    return installation;
  }

  /** Use an installation that another process started. */
  static at(handle: InstallationHandle): Installation {
    return new Installation(handle);
  }

  get handle(): InstallationHandle {
    return { directory: this.directory, pid: this.pid, readyS: this.readyS };
  }

  get client(): ClientFile {
    return JSON.parse(readFileSync(this.#clientFile, "utf8"));
  }

  /** The key that signs the tokens of the tenant's users. */
  get signingKey() {
    return JSON.parse(readFileSync(join(this.directory, ".tidings/dev/keys.json"), "utf8")).signing;
  }

  /** Kill a process of the installation with -9. `tidings dev` starts it again on the same port. */
  kill(kind: string): void {
    process.kill(this.pidOf(kind), "SIGKILL");
  }

  /** Suspend a process, so that entries that are pushed to it are lost when it is killed. */
  suspend(kind: string): void {
    process.kill(this.pidOf(kind), "SIGSTOP");
  }

  resume(kind: string): void {
    process.kill(this.pidOf(kind), "SIGCONT");
  }

  pidOf(kind: string): number {
    const all = processes();
    const ours = new Set([this.pid]);
    // A parent is listed before its children only if process ids have not wrapped around, so repeat until nothing is added.
    for (let size = 0; size !== ours.size; ) {
      size = ours.size;
      for (const { pid, parent } of all) if (ours.has(parent)) ours.add(pid);
    }
    const found = all.find(({ pid, command }) => ours.has(pid) && command.endsWith(` run ${kind}`));
    if (!found) throw new Error(`No process \`tidings run ${kind}\` below ${this.pid}.`);
    return found.pid;
  }

  /** Publish a record to a topic of the installation, as another program could. */
  publish(topic: string, key: string, value: string): void {
    execFileSync("python", ["-c", PUBLISH, topic, key, value], { cwd: this.directory, env: environment() });
  }

  /** Run a command of the installation's operator, and return its output. */
  tidings(...words: string[]): string {
    return execFileSync("tidings", words, {
      cwd: this.directory,
      env: environment(),
      encoding: "utf8",
    }).trim();
  }

  /** Begin a session of an operator, as the identity provider's answer does, and return the value of its cookie. */
  beginSession(role: string, tenant: string): string {
    const options = { cwd: this.directory, env: environment(), encoding: "utf8" } as const;
    return execFileSync("python", ["-c", BEGIN_SESSION, role, tenant], options).trim();
  }

  async stop(): Promise<void> {
    const child = this.#process;
    if (!child || child.exitCode !== null) return;
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGTERM");
    const timer = setTimeout(() => child.kill("SIGKILL"), STOP_WITHIN_S * 1000);
    await ended;
    clearTimeout(timer);
    if (!process.env.TIDINGS_KEEP) rmSync(this.directory, { recursive: true, force: true });
  }

  get #clientFile(): string {
    return join(this.directory, ".tidings/dev/client.json");
  }

  #startFailure(): string {
    const log = readFileSync(join(this.directory, "dev.log"), "utf8");
    return `\`tidings dev\` was not ready within ${READY_WITHIN_S} s. The end of its output:\n${log.slice(-3000)}`;
  }
}

/** The environment of the installation's processes, without settings of another one. */
export function environment(): Record<string, string | undefined> {
  const ours = Object.entries(process.env).filter(([name]) => !name.startsWith("TIDINGS_"));
  return { ...Object.fromEntries(ours), ...SETTINGS };
}

function processes(): { pid: number; parent: number; command: string }[] {
  const lines = execFileSync("ps", ["-eo", "pid=,ppid=,args="], { encoding: "utf8" }).split("\n");
  return lines.map((line) => {
    const [pid, parent, ...command] = line.trim().split(/\s+/);
    return { pid: Number(pid), parent: Number(parent), command: command.join(" ") };
  });
}
