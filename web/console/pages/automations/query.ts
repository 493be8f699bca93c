import { type Search, split } from '../../data/address.ts'
import type { Input } from '../../data/operations.ts'

type Query = NonNullable<Input<'v4ListAutomations'>['query']>

export const STATUSES = ['active', 'paused', 'inactive'] as const

/** What the address selects. */
export function listQuery(search: Search): Query {
  const statuses = split(search['f.status']).filter(code => STATUSES.includes(code as never)) as NonNullable<Query['filter[status][]']>
  return {
    limit: 50,
    ...(statuses.length > 0 && { 'filter[status][]': statuses }),
    ...(search['f.event'] && { 'filter[event]': search['f.event'] }),
  }
}
