/** Where unfinished uploads are kept, so that they continue after a reload. */

/**
 * An upload that was started. `fingerprint` recognises its file when the user chooses it again: a page cannot keep a file
 * across a reload. `sums`: SHA-256 of the parts that were sent, by number.
 */
export interface StoredUpload {
  readonly id: string;
  readonly chat: string;
  readonly name: string;
  readonly size: number;
  readonly fingerprint: string;
  readonly expiresAt: number;
  readonly sums: Readonly<Record<number, string>>;
}

/** Unlike the store of messages, all tabs use it: each tab sends its own files. */
export interface UploadStore {
  list(): Promise<readonly StoredUpload[]>;
  put(upload: StoredUpload): Promise<void>;
  delete(id: string): Promise<void>;
}

const TABLE = "uploads";

/** A store in the database `tidings-uploads:<name>`. It has names of files, and no content. */
export class IndexedDbUploadStore implements UploadStore {
  readonly #name: string;
  #opened: Promise<IDBDatabase> | undefined;

  constructor(name: string) {
    this.#name = `tidings-uploads:${name}`;
  }

  async list(): Promise<readonly StoredUpload[]> {
    return (await this.#run("readonly", (table) => table.getAll())) as StoredUpload[];
  }

  async put(upload: StoredUpload): Promise<void> {
    await this.#run("readwrite", (table) => table.put(upload, upload.id));
  }

  async delete(id: string): Promise<void> {
    await this.#run("readwrite", (table) => table.delete(id));
  }

  async #run(mode: IDBTransactionMode, act: (table: IDBObjectStore) => IDBRequest): Promise<unknown> {
    this.#opened ??= openDatabase(this.#name);
    return resultOf(act((await this.#opened).transaction(TABLE, mode).objectStore(TABLE)));
  }
}

export class MemoryUploadStore implements UploadStore {
  readonly #uploads = new Map<string, StoredUpload>();

  async list(): Promise<readonly StoredUpload[]> {
    return [...this.#uploads.values()];
  }

  async put(upload: StoredUpload): Promise<void> {
    this.#uploads.set(upload.id, upload);
  }

  async delete(id: string): Promise<void> {
    this.#uploads.delete(id);
  }
}

async function openDatabase(name: string): Promise<IDBDatabase> {
  const opening = indexedDB.open(name, 1);
  opening.onupgradeneeded = () => opening.result.createObjectStore(TABLE);
  const database = (await resultOf(opening)) as IDBDatabase;
  database.onversionchange = () => database.close();
  return database;
}

function resultOf(request: IDBRequest): Promise<unknown> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}
