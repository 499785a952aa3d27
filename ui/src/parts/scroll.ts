// The reader owns the scroll. The view follows the text only while its end is in sight and the reader's last move was not
// upwards; any move up, a selection or an open menu ends following at once.
import { signal } from "@preact/signals";

const near = 48;

export class Follower {
  readonly following = signal(true);
  private el: HTMLElement | null = null;
  private last = 0;
  private observer: ResizeObserver | null = null;

  /** Watches a scrolling element and what is inside of it. */
  attach(el: HTMLElement | null): void {
    this.observer?.disconnect();
    this.el = el;
    if (!el) return;
    this.last = el.scrollTop;
    el.addEventListener("scroll", this.moved, { passive: true });
    el.addEventListener("wheel", (e) => { if (e.deltaY < 0) this.following.value = false; }, { passive: true });
    el.addEventListener("keydown", (e) => { if (e.key === "PageUp" || e.key === "Home" || e.key === "ArrowUp") this.following.value = false; });
    el.addEventListener("touchmove", this.moved, { passive: true });
    // Layout is read when the contents' size has changed, and not in the path of the stream.
    this.observer = new ResizeObserver(() => { if (this.following.value) this.toEnd(); });
    for (const child of el.children) this.observer.observe(child);
    this.observer.observe(el);
  }

  private moved = () => {
    const el = this.el;
    if (!el) return;
    const rest = el.scrollHeight - el.clientHeight - el.scrollTop;
    if (el.scrollTop < this.last - 2 && rest > near) this.following.value = false;
    else if (rest <= near && !selecting()) this.following.value = true;
    this.last = el.scrollTop;
  };

  toEnd(): void {
    if (selecting()) return;
    this.following.value = true;
    const el = this.el;
    if (el) { el.scrollTop = el.scrollHeight; this.last = el.scrollTop; }
  }
}

function selecting(): boolean {
  const s = getSelection();
  return s !== null && !s.isCollapsed && !(document.activeElement instanceof HTMLTextAreaElement);
}
