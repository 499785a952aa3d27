// One timer for all clocks on the page; it ticks only while somebody looks at one.
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";

const now = signal(Date.now());
let lookers = 0;
let timer = 0;

/** The time, fresh every second. */
export function useNow(active: boolean): number {
  useEffect(() => {
    if (!active) return;
    if (lookers++ === 0) timer = window.setInterval(() => { now.value = Date.now(); }, 1000);
    return () => { if (--lookers === 0) clearInterval(timer); };
  }, [active]);
  return active ? Math.max(now.value, 0) : 0;
}
