import type { Attachments, Upload, UploadOptions } from "@tidings/client";
import { ObservableValue } from "./observable_value.ts";

/** The server refuses messages with more. */
export const MAX_ATTACHMENTS = 10;
const MAX_SENT_FILES = 50;

/** The last files that this page has sent: they are shown at once, before the server has processed them. */
const sentFiles = new Map<string, Blob>();

export function sentFile(id: string): Blob | undefined {
  return sentFiles.get(id);
}

export interface DraftUploadsState {
  readonly uploads: readonly Upload[];
  /** Whether a message can refer to all of them. */
  readonly areComplete: boolean;
}

const NONE: DraftUploadsState = { uploads: [], areComplete: true };

/** The files of a message that is being written. Their uploads start when they are attached. */
export class DraftUploads extends ObservableValue<DraftUploadsState> {
  private readonly chat: string;
  private readonly measured = new Set<Upload>();
  /** The owner of the uploads. Absent until the first file is attached. */
  private attachments: Attachments | undefined;

  constructor(chat: string) {
    super(NONE);
    this.chat = chat;
  }

  /** Attach a file, and start its upload. Returns `undefined` if the message has the maximum number of files. */
  attach(attachments: Attachments, file: Blob, options: UploadOptions = {}): Upload | undefined {
    const { uploads } = this.get();
    if (uploads.length >= MAX_ATTACHMENTS) return undefined;
    this.attachments = attachments;
    const upload = attachments.upload(this.chat, file, options);
    this.set({ uploads: [...uploads, upload], areComplete: false });
    void this.measure(upload);
    upload.progress.subscribe(() => this.update());
    return upload;
  }

  remove(upload: Upload): void {
    const uploads = this.get().uploads.filter((each) => each !== upload);
    this.set({ ...this.get(), uploads });
    this.update();
    void this.attachments?.cancel(upload);
  }

  /** Return the owner and the uploads for the message, and begin a new one. */
  take(): { attachments: Attachments; uploads: readonly Upload[] } | undefined {
    const { uploads } = this.get();
    if (!this.attachments || !uploads.length) return undefined;
    for (const { id, file } of uploads) if (id) sentFiles.set(id, file);
    for (const id of sentFiles.keys()) if (sentFiles.size > MAX_SENT_FILES) sentFiles.delete(id);
    this.set(NONE);
    return { attachments: this.attachments, uploads };
  }

  /** Put uploads back whose message was refused. */
  restore(uploads: readonly Upload[]): void {
    this.set({ uploads, areComplete: true });
  }

  /** Find out the size of an image. The message contains it, so that pages reserve the space before they load it. */
  private async measure(upload: Upload): Promise<void> {
    if (upload.info.type.startsWith("image/")) {
      try {
        const { width, height, close } = await createImageBitmap(upload.file).then((bitmap) => ({
          width: bitmap.width,
          height: bitmap.height,
          close: () => bitmap.close(),
        }));
        upload.describe({ width, height });
        close();
      } catch {
        // Not an image that this browser can show.
      }
    }
    this.measured.add(upload);
    this.update();
  }

  private update(): void {
    const { uploads, areComplete } = this.get();
    const isComplete = (upload: Upload) =>
      upload.progress.get().state === "uploaded" && this.measured.has(upload);
    if (uploads.every(isComplete) !== areComplete) this.set({ uploads, areComplete: !areComplete });
  }
}
