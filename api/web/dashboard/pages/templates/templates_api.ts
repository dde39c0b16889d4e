/** API calls for templates, below `/dashboard/api/{org_id}`. All throw ApiError. */
import type { ExplainedTemplate, PromptPart, StepOrigin } from "../../../core";
import { authored, patchOf, type Draft } from "../../../core/authoring";
import { call, exchange } from "../../client";
import type { PageInfo } from "../../parts/pagination";

export interface ManagedBy {
  readonly manager: string;
  readonly reason: string;
}

export interface TemplateRow {
  readonly id: string;
  readonly v: number;
  readonly name: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly step_count?: number;
  readonly managed_by?: ManagedBy | null;
  readonly created_at: string;
  readonly updated_at: string;
}

export interface VersionRow {
  readonly v: number;
  readonly name: string;
  readonly step_count: number;
  readonly created_at: string;
  readonly current: boolean;
  readonly changed_by?: { readonly kind: string; readonly name: string } | null;
}

/** A template as stored. */
export interface Stored {
  readonly id: string;
  readonly v: number;
  readonly updatedAt: string;
  readonly managedBy: ManagedBy | null;
  readonly draft: Draft;
}

const PER_PAGE = 100;
const GENERATED_WITHIN_MS = 120_000;

/** Loads all templates: the list is filtered in the browser. */
export async function allTemplates(org: string, signal: AbortSignal): Promise<TemplateRow[]> {
  return everyPage<TemplateRow>(`${org}/templates`, signal);
}

export async function allVersions(org: string, id: string, signal: AbortSignal): Promise<VersionRow[]> {
  return everyPage<VersionRow>(`${org}/templates/${id}/versions`, signal);
}

async function everyPage<Row>(path: string, signal: AbortSignal): Promise<Row[]> {
  const rows: Row[] = [];
  for (let page: number | null = 1; page !== null; ) {
    const found: { data: Row[]; pagination: PageInfo } = await call(`${path}?page=${page}&per_page=${PER_PAGE}`, { signal });
    rows.push(...found.data);
    page = found.pagination.next_page;
  }
  return rows;
}

export async function readTemplate(org: string, id: string, signal?: AbortSignal): Promise<Stored> {
  return storedOf(await call<object>(`${org}/templates/${id}`, signal === undefined ? {} : { signal }));
}

export async function readVersion(org: string, id: string, v: number, signal: AbortSignal): Promise<Draft> {
  return authored(await call<object>(`${org}/templates/${id}/versions/${v}`, { signal }));
}

/** Restores an earlier version as a new version with the same content. */
export async function restoreVersion(org: string, id: string, v: number, current: number): Promise<Stored> {
  return storedOf(await call<object>(`${org}/templates/${id}/versions/${v}/restore`, { method: "POST", headers: { "If-Match": `"${current}"` } }));
}

/** `once` is the idempotency key. */
export async function createTemplate(org: string, draft: Draft, once: string): Promise<Stored> {
  return storedOf(await call<object>(`${org}/templates`, { method: "POST", json: draft, headers: { "Idempotency-Key": once } }));
}

/** Rejected with 412 if the template has another version than `v`. */
export async function saveTemplate(org: string, id: string, draft: Draft, v: number): Promise<Stored> {
  return storedOf(await call<object>(`${org}/templates/${id}`, { method: "PATCH", json: patchOf(draft), headers: { "If-Match": `"${v}"` } }));
}

/** What is deleted and what is kept with the template. */
export interface Deletion {
  readonly runs: number;
  readonly open_runs: number;
  readonly kept_versions: number;
}

export async function deletionOf(org: string, id: string, signal: AbortSignal): Promise<Deletion> {
  return call(`${org}/templates/${id}/deletion`, { signal });
}

export async function deleteTemplate(org: string, id: string): Promise<void> {
  await call(`${org}/templates/${id}`, { method: "DELETE" });
}

export interface Generated {
  /** The prompt as sent: offsets include white space around it. */
  readonly prompt: string;
  readonly locale: string;
  readonly draft: Draft;
  /** One per step, in order. */
  readonly origins: readonly StepOrigin[];
  readonly unused: readonly PromptPart[];
  /** `X-Generated-By`: what generated it. */
  readonly by: string;
}

export async function generateTemplate(org: string, prompt: string, locale: string, signal: AbortSignal): Promise<Generated> {
  const wanted = locale === "" ? "" : `&locale=${locale}`;
  const { body, headers } = await exchange<ExplainedTemplate>(`${org}/templates/generate?explain=true${wanted}`, { method: "POST", json: { prompt }, signal, within: GENERATED_WITHIN_MS });
  return { prompt, locale, draft: authored(body.template), origins: body.steps, unused: body.unused, by: headers.get("X-Generated-By") ?? "" };
}

export function storedOf(body: object): Stored {
  const { id, v, updated_at, managed_by } = body as { id: string; v: number; updated_at: string; managed_by?: ManagedBy | null };
  return { id, v, updatedAt: updated_at, managedBy: managed_by ?? null, draft: authored(body) };
}
