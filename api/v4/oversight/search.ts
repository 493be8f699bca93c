import { type Found, SEARCHED_KINDS, type SearchedKind, search } from '../../../domain/oversight/search/search.ts'
import { permits } from '../../../domain/projects/authority.ts'
import { onPool } from '../../operation.ts'
import { fullList } from '../../pagination.ts'

/** Where things of a kind are read, and what a principal must be allowed to see them. */
const READ: Record<SearchedKind, { scope: string; url: (found: Found) => string }> = {
  customer: { scope: 'customers:read', url: ({ id }) => `/v4/customers/${id}` },
  event: { scope: 'events:read', url: ({ id }) => `/v4/events/${id}` },
  automation: { scope: 'automations:read', url: ({ id }) => `/v4/automations/${id}` },
  automation_run: { scope: 'automations:read', url: ({ id }) => `/v4/automation-runs/${id}` },
  integration: { scope: 'integrations:read', url: ({ id }) => `/v4/integrations/${id}` },
  delivery: { scope: 'integrations:read', url: ({ id, parent }) => `/v4/integrations/${parent}/deliveries/${id}` },
  export: { scope: 'exports:read', url: ({ id }) => `/v4/exports/${id}` },
  scheduled_report: { scope: 'scheduled_reports:read', url: ({ id }) => `/v4/scheduled-reports/${id}` },
  report_run: { scope: 'scheduled_reports:read', url: ({ id, parent }) => `/v4/scheduled-reports/${parent}/runs?filter[run_id]=${id}` },
}

export const v4Search = onPool('v4Search', async ({ query, principal, environment, deps }) => {
  const text = query.q.trim()
  const kinds = SEARCHED_KINDS.filter(kind => permits(principal.scopes, READ[kind].scope))
  const found = text === '' ? [] : await search(deps.listing, environment, text, kinds)
  const data = found.map(one => {
    const { kind, id, title, status, more } = one
    const subtitle = [more, status].filter(part => part !== null && part !== title).join(' · ')
    return { object: 'search_result' as const, kind, id, url: READ[kind].url(one), title: title ?? id, subtitle }
  })
  return { body: fullList('/v4/search', data) }
})
