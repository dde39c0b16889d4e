/** The names of the organization's templates, for selection. */
import { call } from "../client";
import { useLiveReload } from "../live";
import type { PageOf } from "../parts/paged_rows";
import { type Resource, useResource } from "../parts/resource";

export interface TemplateName {
  readonly id: string;
  readonly v: number;
  readonly name: string;
  readonly description: string;
  readonly tags: readonly string[];
}

const AT_MOST_PAGES = 20;

export function useTemplates(organizationId: string): Resource<readonly TemplateName[]> {
  const templates = useResource(organizationId, async (signal) => {
    const found: TemplateName[] = [];
    for (let page: number | null = 1; page !== null && page <= AT_MOST_PAGES; ) {
      const next: PageOf<TemplateName> = await call(`${organizationId}/templates?page=${page}&per_page=100`, { signal });
      found.push(...next.data);
      page = next.pagination.next_page;
    }
    return found.sort((one, other) => one.name.localeCompare(other.name));
  });
  useLiveReload(["template"], templates.reload);
  return templates;
}
