// A small sign under the bar, only when the line is down, and for a moment when it is back.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { useNow } from "../clock";
import { Icon } from "../icons";
import { t } from "../i18n";
import { line, shownAfter, tryNow, type Line } from "../wire/follow";

export function Connection(): JSX.Element | null {
  const l = line.value;
  const [late, setLate] = useState(false);
  useEffect(() => {
    setLate(false);
    if (l.state !== "down") return;
    const timer = setTimeout(() => setLate(true), Math.max(0, l.since + shownAfter - Date.now()));
    return () => clearTimeout(timer);
  }, [l.state, l.since]);
  if (l.state === "up" || (l.state === "down" && !late)) return null;
  return <Sign line={l} />;
}

export function Sign({ line: l }: { line: Line }): JSX.Element {
  const now = useNow(l.state === "down");
  const left = Math.max(0, Math.ceil((l.next - now) / 1000));
  if (l.state === "back") return <div class="sign ok" role="status"><Icon name="check" />{t("backLine")}</div>;
  return (
    <div class="sign" role="status"><Icon name="offline" /><span>{t("downLine")} {left > 1 && t("nextTry", left)}</span>
      <button type="button" class="link" onClick={tryNow}>{t("tryNow")}</button></div>
  );
}
