import { joined, type Search, split } from '../../data/address.ts'
import type { Input } from '../../data/operations.ts'
import { NO_SPAN, spanOf } from '../../data/spans.ts'

type Query = NonNullable<Input<'v4ListAllAutomationRuns'>['query']>
export type RunFilter = NonNullable<Query['filter[status][]']>[number]

/** In the order of their chips: what may need somebody comes first. */
export const STATUSES: readonly RunFilter[] = ['retrying', 'failed', 'running', 'waiting', 'pending', 'succeeded', 'cancelled', 'skipped']
export const NO_FILTER = {
  ...NO_SPAN,
  ...{ 'f.status': undefined, 'f.automation_id': undefined, 'f.user_id': undefined, 'f.event_name': undefined, after: undefined },
}

export const statusesOf = (search: Search): RunFilter[] => STATUSES.filter(status => split(search['f.status']).includes(status))
export const eventsOf = (search: Search): string[] => split(search['f.event_name']).slice(0, 50)

export const toggled = <Value extends string>(values: readonly Value[], value: Value): string | undefined =>
  joined(values.includes(value) ? values.filter(other => other !== value) : [...values, value])

export const isFiltered = (search: Search): boolean => Object.keys(NO_FILTER).some(name => name !== 'after' && search[name] !== undefined)

/** What the address asks for; `now` in Unix seconds. */
export function queryOf(search: Search, now: number): Query {
  const [statuses, events] = [statusesOf(search), eventsOf(search)]
  return {
    limit: 50,
    ...(statuses.length > 0 && { 'filter[status][]': statuses }),
    ...(search['f.automation_id'] && { 'filter[automation_id]': search['f.automation_id'] }),
    ...(search['f.user_id'] && { 'filter[user_id]': search['f.user_id'] }),
    ...(events.length > 0 && { 'filter[event_name][]': events }),
    ...spanOf(search, now),
    ...(search.after && { starting_after: search.after }),
  }
}
