// Where a page has its data from: itself, the server that sent it, or the notebook around it.
import { type Dispatch, type SetStateAction, useEffect, useState } from "react";
import { type Details, type Page, unpack } from "./data";

const EVERY_MS = 1000;

export interface Source {
  page: Page | null;
  /** What is wrong now; the page is still what it was. */
  trouble: string;
  live: boolean;
  details(id: number): Promise<Details | null>;
  act(action: "pin" | "export", id: number): Promise<string>;
}

async function asked<T>(path: string, options?: RequestInit): Promise<T> {
  const answer = await fetch(path, options);
  const found = await answer.json();
  if (!answer.ok) throw new Error(found.error);
  return found as T;
}

const remote = {
  details: (id: number) => asked<Details>(`/candidate/${id}`),
  async act(action: string, id: number) {
    const body = JSON.stringify({ candidate: id });
    return (await asked<{ done: string }>(`/${action}`, { method: "POST", body })).done;
  },
};

function contained(page: Page, id: number): Details | null {
  const found = page.details[id];
  if (!found) return null;
  const forms = Object.entries(found.forms).map(([name, n]) => [name, page.texts[n]!]);
  return { ...found, forms: Object.fromEntries(forms) };
}

const inside = document.getElementById("data")!.textContent!.trim();

/** In a notebook: the frame around has the data, and asks the kernel for candidates. */
const embedded = !inside && window.parent !== window;

interface Told {
  page?: string;
  candidate?: number;
  details?: Details;
  error?: string;
}

function heard(use: (told: Told) => void): () => void {
  const hear = ({ source, data }: MessageEvent<Told>) => {
    if (source === window.parent) use(data);
  };
  window.addEventListener("message", hear);
  return () => window.removeEventListener("message", hear);
}

const kernel = {
  details: (id: number) =>
    new Promise<Details>((resolve, reject) => {
      const end = heard(({ candidate, details, error }) => {
        if (candidate !== id) return;
        end();
        if (details) resolve(details);
        else reject(new Error(error));
      });
      window.parent.postMessage({ candidate: id }, "*");
    }),
  act: async () => "",
};

/** `run`: the one to show, null for the one that runs, or the last. */
export function useSource(run: number | null): Source {
  const [page, setPage] = useState<Page | null>(null);
  const [trouble, setTrouble] = useState("");
  useEffect(() => {
    const damaged = (error: unknown) => setTrouble(`This page is damaged: ${error}`);
    const show = (text: string) => void unpack(text).then(setPage, damaged);
    if (inside) return show(inside);
    if (embedded) {
      const end = heard((told) => told.page && show(told.page));
      window.parent.postMessage({ ready: true }, "*");
      return end;
    }
    return polled(run, setPage, setTrouble);
  }, [run]);
  if (inside) {
    const details = async (id: number) => (page ? contained(page, id) : null);
    return { page, trouble, live: false, details, act: kernel.act };
  }
  return { page, trouble, live: !embedded, ...(embedded ? kernel : remote) };
}

type Setting<T> = Dispatch<SetStateAction<T>>;

/** Asks the server for what has changed, until it is told to end. */
function polled(run: number | null, setPage: Setting<Page | null>, setTrouble: Setting<string>) {
  history.replaceState(null, "", "/"); // the token was for the first request
  let known = "";
  let timer = 0;
  let ended = false;
  async function ask() {
    const began = performance.now();
    // Nobody looks: a search that runs beside has the machine for itself.
    if (!document.hidden || !known) {
      try {
        const own = run === null ? "" : `&run=${run}`;
        const found = await asked<Partial<Page>>(`/state?known=${known}${own}`);
        if (ended) return;
        known = found.version!;
        setPage((old) => ({ ...old, ...found }) as Page);
        setTrouble("");
      } catch (error) {
        if (ended) return;
        const gone = error instanceof TypeError; // of fetch: no answer
        setTrouble(
          gone ? "schedsearch ui has ended; this is its last state." : (error as Error).message,
        );
      }
    }
    // Of a large store an answer takes long: that is half of the time at most.
    timer = window.setTimeout(ask, Math.max(EVERY_MS, performance.now() - began));
  }
  ask();
  return () => {
    ended = true;
    clearTimeout(timer);
  };
}
