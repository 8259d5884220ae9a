import { render } from "preact";
import { useEffect } from "preact/hooks";
import { SessionContext } from "./access.ts";
import { codeOf, markUnasked, session } from "./api.ts";
import { useLoaded } from "./hooks.ts";
import { connect, onConnection } from "./live.ts";
import { Shell } from "./shell.tsx";
import { Failure, Loading } from "./ui/states.tsx";
import "../style/base.css";
import "../style/parts.css";
import "../style/layout.css";
import "uplot/dist/uPlot.min.css";

/** Seconds between two looks at the session: one that has ended leads to the login. */
const LOOK = 60;

function Console() {
  const { data, error, reload } = useLoaded("session", session, { every: LOOK });
  // Only operators may read events.
  const isOperator = data ? data.role !== null : false;
  useEffect(() => {
    if (!isOperator) return;
    connect();
    // The service ends the stream with the session. Nobody has asked for this look.
    return onConnection((connected) => {
      const look = new AbortController();
      markUnasked(look.signal);
      if (!connected) session(look.signal).catch(() => undefined);
    });
  }, [isOperator]);
  if (!data) {
    return <div class="start">{error && codeOf(error) !== "unauthorized" ? <Failure error={error} retry={reload} /> : <Loading />}</div>;
  }
  return <SessionContext.Provider value={{ session: data, reload }}><Shell /></SessionContext.Provider>;
}

const root = document.getElementById("console");
if (root) render(<Console />, root);
