import type { Attachment, Chat, TimelineItem } from "@tidings/client";
import { type CSSProperties, type ReactNode, useRef, useState } from "react";
import { sentFile } from "../draft_uploads.ts";
import { useAttachmentLink, useAttachments, useMessageAttachments } from "../hooks/attachments.ts";
import { useSettings } from "../hooks/client.ts";
import { useBlobUrl } from "../parts/blob_url.ts";
import { Blurhash } from "../parts/blurhash.tsx";
import { Icon } from "../parts/icon.tsx";
import { Gallery } from "./gallery.tsx";

/** The longer side of an image in the log, in CSS pixels. */
const LONGEST_PX = 320;
const SMALLEST_PX = 60;
/** Types that the media worker makes a thumbnail of, or that browsers play. */
const IMAGES = /^image\/(?!svg)/;
const AUDIO = /^audio\//;
const VIDEO = /^video\//;

export interface MessageAttachmentsProps {
  chat: Chat;
  item: TimelineItem;
}

interface FileProps {
  chat: string;
  sequence: number | undefined;
  file: Attachment;
}

/** The files of a message: images, recordings, videos, and rows with name and size. */
export function MessageAttachments({ chat, item }: MessageAttachmentsProps): ReactNode {
  const files = useMessageAttachments(item);
  const images = files.filter(({ type = "" }) => IMAGES.test(type));
  const others = files.filter((file) => !images.includes(file));
  const place = { chat: chat.id, sequence: item.sequence };
  return (
    <div className="td-attachments">
      {images.length > 0 && <Images images={images} {...place} />}
      {others.map((file) => (
        <OtherFile key={file.id} file={file} {...place} />
      ))}
    </div>
  );
}

function OtherFile(props: FileProps) {
  const { type = "" } = props.file;
  if (AUDIO.test(type)) return <AudioFile {...props} />;
  return VIDEO.test(type) ? <VideoFile {...props} /> : <FileRow {...props} />;
}

function Images({ images, ...place }: { images: readonly Attachment[] } & Omit<FileProps, "file">) {
  const [open, setOpen] = useState<number>();
  const grid = useRef<HTMLDivElement>(null);
  const close = () => {
    setOpen(undefined);
    grid.current?.querySelectorAll<HTMLElement>("button")[open ?? 0]?.focus();
  };
  return (
    <div className="td-images" data-many={images.length > 1 || undefined} ref={grid}>
      {images.map((file, index) => (
        <ImageButton key={file.id} file={file} {...place} onOpen={() => setOpen(index)} />
      ))}
      {open !== undefined && <Gallery images={images} start={open} {...place} onClose={close} />}
    </div>
  );
}

function ImageButton({ chat, sequence, file, onOpen }: FileProps & { onOpen: () => void }) {
  const { locale } = useSettings();
  const { link, error, renew } = useAttachmentLink(chat, sequence, file.id);
  const local = useBlobUrl(sentFile(file.id));
  const [isLoaded, setLoaded] = useState(false);
  const name = file.alt || file.name || locale.text("image");
  const source = local ?? link?.thumbnail_url ?? (link?.is_inline ? link.url : undefined);
  return (
    <button
      type="button"
      className="td-image"
      style={sizeOf(file)}
      aria-label={locale.text("openImage", { name })}
      disabled={error !== undefined}
      onClick={onOpen}
    >
      {link?.blurhash && !local && !isLoaded && <Blurhash hash={link.blurhash} />}
      {source && (
        <img
          src={source}
          alt={name}
          loading="lazy"
          decoding="async"
          onLoad={() => setLoaded(true)}
          onError={renew}
        />
      )}
      {error && <Unavailable code={error.code} />}
    </button>
  );
}

/** Reserve the space of an image before it is loaded, so that messages do not move. */
function sizeOf({ width = 4, height = 3 }: Attachment): CSSProperties {
  const scale = Math.min(1, LONGEST_PX / Math.max(width, height));
  const isKnown = width > 4;
  const shownWidth = isKnown ? Math.max(SMALLEST_PX, Math.round(width * scale)) : LONGEST_PX;
  // An image that is very wide or high is cut.
  const ratio = Math.min(Math.max(width / height, 0.4), 4);
  return { "--td-image-width": `${shownWidth}px`, "--td-image-ratio": ratio } as CSSProperties;
}

function AudioFile({ chat, sequence, file }: FileProps) {
  const { locale } = useSettings();
  const { link, error, renew } = useAttachmentLink(chat, sequence, file.id);
  const local = useBlobUrl(sentFile(file.id));
  const name = file.name || locale.text("voiceMessage");
  return (
    <div className="td-voice">
      {/* biome-ignore lint/a11y/useMediaCaption: recordings of users have no captions. */}
      <audio
        className="td-audio"
        controls
        preload="none"
        src={local ?? link?.url}
        aria-label={name}
        onError={renew}
      />
      {file.duration_ms !== undefined && <span>{locale.duration(file.duration_ms)}</span>}
      {error && <Unavailable code={error.code} />}
    </div>
  );
}

function VideoFile({ chat, sequence, file }: FileProps) {
  const { locale } = useSettings();
  const { link, error, renew } = useAttachmentLink(chat, sequence, file.id);
  return error ? (
    <Unavailable code={error.code} />
  ) : (
    // biome-ignore lint/a11y/useMediaCaption: recordings of users have no captions.
    <video
      className="td-image"
      style={sizeOf({ ...file, width: file.width ?? 1600, height: file.height ?? 900 })}
      controls
      preload="none"
      src={link?.url}
      poster={link?.thumbnail_url}
      aria-label={file.name || locale.text("file")}
      onError={renew}
    />
  );
}

function FileRow({ chat, sequence, file }: FileProps) {
  const { locale } = useSettings();
  const attachments = useAttachments();
  const [code, setCode] = useState<string>();
  const name = file.name || locale.text("file");
  const size = file.size === undefined ? "" : locale.fileSize(file.size);
  // Requested for each click, because URLs expire.
  const download = () => {
    if (!attachments || sequence === undefined) return;
    attachments.link(chat, sequence, file.id).then(
      ({ url }) => openUrl(url),
      (error: { code: string }) => setCode(error.code),
    );
  };
  return (
    <button
      type="button"
      className="td-file"
      aria-label={locale.text("download", { name, size })}
      disabled={sequence === undefined}
      onClick={download}
    >
      <Icon name="file" />
      <span className="td-file-main">
        <span className="td-file-name" dir="auto">
          {name}
        </span>
        <span className="td-file-size">{code ? <Unavailable code={code} /> : size}</span>
      </span>
    </button>
  );
}

function Unavailable({ code }: { code: string }) {
  const { locale } = useSettings();
  return (
    <span className="td-unavailable">
      {locale.text(code === "upload_refused" ? "fileRefused" : "fileUnavailable")}
    </span>
  );
}

/** The bucket answers with `Content-Disposition`, so most types are saved and the page stays. */
function openUrl(url: string): void {
  const anchor = document.createElement("a");
  anchor.href = url;
  anchor.target = "_blank";
  anchor.rel = "noopener noreferrer";
  anchor.click();
}
