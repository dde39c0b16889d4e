/** A sheet of QR codes to print and cut, one for each link. The service draws the codes. */
import { useEffect, useRef, useState } from "preact/hooks";

import { ApiError, call } from "../../client";
import { SelectField } from "../../parts/fields";
import { Section } from "../../parts/page_head";
import { Progress } from "../../parts/progress";
import { Failure } from "../../parts/states";
import { localTime } from "../../parts/time";
import { QrCode } from "../run_link";
import type { RunLink } from "../runs_types";
import type { Job } from "./kept_job";
import type { LinkedRow } from "./links";
import { titleOf } from "./messages";

const CONCURRENCY = 4;
/** Codes of one sheet: twenty pages of a printer. */
const AT_ONCE = 240;

interface SheetProps {
  job: Job;
  linked: readonly LinkedRow[];
  organizationId: string;
}

interface Card {
  readonly one: LinkedRow;
  readonly link: RunLink;
}

export function QrSheet({ job, linked, organizationId }: SheetProps) {
  const [part, setPart] = useState(0);
  const [made, setMade] = useState(0);
  const [cards, setCards] = useState<readonly Card[] | null>(null);
  const [error, setError] = useState<ApiError | null>(null);
  const making = useRef<AbortController>(undefined);
  useEffect(() => () => making.current?.abort(), []);
  const chosen = linked.slice(part * AT_ONCE, (part + 1) * AT_ONCE);
  const parts = Array.from({ length: Math.ceil(linked.length / AT_ONCE) }, (_, index) => ({
    value: String(index),
    title: `${index * AT_ONCE + 1} to ${Math.min(linked.length, (index + 1) * AT_ONCE)}`,
  }));
  const make = async () => {
    making.current?.abort();
    const ours = (making.current = new AbortController());
    const found: Card[] = [];
    const queue = chosen.map((one, index) => ({ one, index }));
    setError(null);
    setMade(0);
    setCards([]);
    const work = async () => {
      for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
        found[next.index] = { one: next.one, link: await call<RunLink>(`${organizationId}/runs/${next.one.runId}/link`, { signal: ours.signal }) };
        setMade((before) => before + 1);
      }
    };
    try {
      await Promise.all(Array.from({ length: CONCURRENCY }, work));
      if (!ours.signal.aborted) setCards(found);
    } catch (problem) {
      if (ours.signal.aborted) return;
      ours.abort();
      if (!(problem instanceof ApiError)) throw problem;
      setCards(null);
      setError(problem);
    }
  };
  const isReady = cards !== null && cards.length > 0;
  return (
    <Section
      title="QR sheet"
      id="qr-sheet"
      lead="A page of codes to print, cut and hang up or hand out. Each code contains the link of its row."
      actions={
        isReady && (
          <button type="button" class="button button-primary" onClick={() => print()}>
            Print
          </button>
        )
      }
    >
      {parts.length > 1 && (
        <SelectField
          name="part"
          label="Rows"
          options={parts}
          value={String(part)}
          onChange={(value) => {
            making.current?.abort();
            setPart(Number(value));
            setCards(null);
          }}
        />
      )}
      {error !== null && <Failure error={error} onRetry={() => void make()} />}
      {cards === null ? (
        <div class="actions">
          <button type="button" class="button" onClick={() => void make()}>
            {`Make ${chosen.length} ${chosen.length === 1 ? "code" : "codes"}`}
          </button>
        </div>
      ) : !isReady ? (
        <div role="status">
          <Progress label="Making codes" value={made} max={chosen.length} />
        </div>
      ) : (
        <ul class="qr-cards">
          {cards.map(({ one, link }) => (
            <li key={one.runId}>
              <QrCode qr={link.qr} label={`QR code for ${titleOf(job, one.row)}`} />
              <p class="qr-title" dir="auto">
                {titleOf(job, one.row)}
              </p>
              <p class="small" dir="auto">
                {job.templateName}
              </p>
              {link.expires_at !== null && <p class="small">until {localTime(link.expires_at)}</p>}
            </li>
          ))}
        </ul>
      )}
    </Section>
  );
}
