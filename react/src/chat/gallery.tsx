import type { Attachment } from "@tidings/client";
import { type KeyboardEvent, type ReactNode, useEffect, useRef, useState } from "react";
import { sentFile } from "../draft_uploads.ts";
import { useAttachmentLink } from "../hooks/attachments.ts";
import { useSettings } from "../hooks/client.ts";
import { useBlobUrl } from "../parts/blob_url.ts";
import { IconButton } from "../parts/icon_button.tsx";

export interface GalleryProps {
  chat: string;
  sequence: number | undefined;
  images: readonly Attachment[];
  /** The image that is shown first. */
  start: number;
  onClose: () => void;
}

/** The images of a message, one at a time. The arrow keys move between them, and Escape closes it. */
export function Gallery({ chat, sequence, images, start, onClose }: GalleryProps): ReactNode {
  const { locale } = useSettings();
  const dialog = useRef<HTMLDialogElement>(null);
  const [index, setIndex] = useState(start);
  const image = images[index] as Attachment;
  useEffect(() => dialog.current?.showModal(), []);
  const move = (by: number) => setIndex((before) => Math.min(Math.max(before + by, 0), images.length - 1));
  const onKeyDown = (event: KeyboardEvent) => {
    // The messages behind it also listen to these keys.
    event.stopPropagation();
    const forward = locale.locale.direction === "rtl" ? "ArrowLeft" : "ArrowRight";
    const backward = locale.locale.direction === "rtl" ? "ArrowRight" : "ArrowLeft";
    if (event.key === forward) move(1);
    if (event.key === backward) move(-1);
  };
  return (
    <dialog
      ref={dialog}
      className="td-gallery"
      aria-label={locale.text("images")}
      onClose={onClose}
      onKeyDown={onKeyDown}
    >
      <div className="td-gallery-bar">
        {images.length > 1 && (
          <>
            <IconButton
              icon="back"
              label={locale.text("previousImage")}
              disabled={index === 0}
              onClick={() => move(-1)}
            />
            <span aria-live="polite">
              {locale.text("imageNumber", { number: index + 1, count: images.length })}
            </span>
            <IconButton
              icon="next"
              label={locale.text("nextImage")}
              disabled={index === images.length - 1}
              onClick={() => move(1)}
            />
          </>
        )}
        <IconButton icon="close" label={locale.text("close")} onClick={() => dialog.current?.close()} />
      </div>
      <GalleryImage key={image.id} chat={chat} sequence={sequence} image={image} />
      {image.alt && (
        <p className="td-gallery-alt" dir="auto" aria-hidden="true">
          {image.alt}
        </p>
      )}
    </dialog>
  );
}

function GalleryImage({
  chat,
  sequence,
  image,
}: Pick<GalleryProps, "chat" | "sequence"> & { image: Attachment }) {
  const { locale } = useSettings();
  const { link, renew } = useAttachmentLink(chat, sequence, image.id);
  const local = useBlobUrl(sentFile(image.id));
  const { width, height } = image;
  return (
    <img
      className="td-gallery-image"
      src={local ?? link?.url}
      width={width}
      height={height}
      alt={image.alt ?? image.name ?? locale.text("image")}
      onError={renew}
    />
  );
}
