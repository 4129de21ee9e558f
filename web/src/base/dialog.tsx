// A window above the page, which Escape, a click beside it and what it holds close.

import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';

interface DialogProperties {
  kind: string;
  label: string;
  onClose(): void;
  children: ComponentChildren;
}

export function Dialog({ kind, label, onClose, children }: DialogProperties) {
  const dialog = useRef<HTMLDialogElement>(null);
  // Before the next key is pressed, which belongs into the dialog.
  useLayoutEffect(() => dialog.current!.showModal(), []);
  // The event `close` comes late: a key that is pressed before it would get lost.
  const cancel = (event: Event) => {
    event.preventDefault();
    onClose();
  };
  return (
    <dialog
      ref={dialog}
      class={kind}
      aria-label={label}
      onCancel={cancel}
      onClose={onClose}
      onClick={(event) => event.target === dialog.current && onClose()}
    >
      {children}
    </dialog>
  );
}
