// A modal window: the browser's own, which keeps the focus inside and gives it back.
import type { ComponentChildren, JSX } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

export function Dialog({ label, close, children, class: cls = "" }: { label: string; close: () => void; children: ComponentChildren; class?: string }): JSX.Element {
  const el = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => { // before anything is typed: it must not go elsewhere
    const d = el.current;
    d?.showModal();
    return () => d?.close();
  }, []);
  return (
    <dialog ref={el} class={"dialog " + cls} aria-label={label} onCancel={(e) => { e.preventDefault(); close(); }}
      onClick={(e) => { if (e.target === el.current) close(); }}>
      <div class="dialog-inside">{children}</div>
    </dialog>
  );
}
