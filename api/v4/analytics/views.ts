import { checkLength, checkView, type RequestedView } from '../../../domain/analytics/views/check.ts'
import { viewWindow } from '../../../domain/analytics/views/range.ts'
import {
  createView,
  deleteView,
  getView,
  listViews,
  type SavedView,
  type SavedViewInput,
  updateView,
} from '../../../domain/analytics/views/view.ts'
import { audit } from '../../../domain/kernel/audit/record.ts'
import { type Environment, type EnvironmentKind, now } from '../../../domain/kernel/environment.ts'
import { type Detail, invalidFields } from '../../../domain/kernel/refusal.ts'
import { details } from '../../../schemas/details.ts'
import { descriptions } from '../../../schemas/generated/operations.ts'
import type { Input } from '../../../schemas/operation-types.ts'
import type { Db } from '../../../store/connect.ts'
import { inTransaction, onPool } from '../../operation.ts'
import { cursorPage, restartedHeader } from '../../pagination.ts'

/** Without the window, which moves: audit entries show the saved question. */
const saved = ({ id, name, kind, code, query, range, pinned, created_at, updated_at }: SavedView) => ({
  object: 'analytics_view' as const,
  id,
  url: `/v4/analytics/views/${id}`,
  name,
  kind,
  code,
  query: query as Input<'v4CreateAnalyticsView'>['body']['query'] & object,
  range,
  pinned,
  created_at,
  updated_at,
})

/** `at`: ISO 8601. */
const shownAt = (at: string) => (view: SavedView) => {
  const { timezone } = view.query
  return { ...saved(view), window: viewWindow(view.range, Date.parse(at) / 1_000, typeof timezone === 'string' ? timezone : 'utc') }
}

/** The operation that answers a kind of view, and the parameters that the view's range replaces. */
const ANSWERED_BY = {
  chart: { operation: 'v4GetAnalyticsChart', range: ['from', 'to'] },
  cohorts: { operation: 'v4GetAnalyticsCohorts', range: ['cohort_from', 'cohort_to'] },
  ltv: { operation: 'v4GetAnalyticsLtv', range: ['cohort_from', 'cohort_to'] },
} as const

/** The query with the defaults of the operation, which its own validator checks and fills in. */
function requestedView({ kind, code, query }: SavedViewInput): RequestedView {
  const { operation, range } = ANSWERED_BY[kind]
  const filled = structuredClone(query)
  const faults: Detail[] = range.filter(name => name in query).map(name => ({ field: name, message: 'is the range of the view' }))
  const validate = descriptions.find(({ id }) => id === operation)!.validate.query
  if (!validate(filled)) faults.push(...details(validate.errors, 'query', filled))
  const all = faults.map(({ field, message }) => ({ field: `query.${field}`, message }))
  if (kind === 'chart' && code === null) all.unshift({ field: 'code', message: 'is required for charts' })
  if (kind !== 'chart' && code !== null) all.unshift({ field: 'code', message: 'is for charts only' })
  if (all.length > 0) throw invalidFields(all)
  return { kind, code, query: filled } as RequestedView
}

type ViewCall = { body: Input<'v4CreateAnalyticsView'>['body']; environment: Environment; environmentKind: EnvironmentKind }

/** The view of a body, if its question is valid. Throws `invalid_data` with every fault. */
async function checked(db: Db, { body, environment, environmentKind }: ViewCall): Promise<SavedViewInput> {
  const { name, kind, code = null, query = {}, range, pinned } = body
  const input = { name, kind, code, query, range, pinned }
  await checkView(db, environment, requestedView(input), range, environmentKind === 'production' ? 1 : 0)
  checkLength(query)
  return input
}

export const v4ListAnalyticsViews = onPool('v4ListAnalyticsViews', async ({ query: { limit, starting_after }, environment, db }) => {
  const { rows, restarted } = await listViews(db, environment, limit, starting_after)
  const item = shownAt(await now(db, environment))
  return { body: cursorPage({ url: '/v4/analytics/views', rows, limit, item }), headers: restartedHeader(restarted) }
})

export const v4CreateAnalyticsView = inTransaction('v4CreateAnalyticsView', async call => {
  const { environment, trail, tx } = call
  const made = await createView(tx, environment, await checked(tx, call))
  await audit(tx, trail, { resource: 'analytics_view', id: made.id, after: saved(made) })
  return { body: shownAt(await now(tx, environment))(made) }
})

export const v4GetAnalyticsView = onPool('v4GetAnalyticsView', async ({ path, environment, db }) => {
  const view = await getView(db, environment, path.view_id)
  return { body: shownAt(await now(db, environment))(view) }
})

export const v4UpdateAnalyticsView = inTransaction('v4UpdateAnalyticsView', async call => {
  const { path, environment, trail, tx } = call
  const { before, after } = await updateView(tx, environment, path.view_id, await checked(tx, call))
  if (before) await audit(tx, trail, { resource: 'analytics_view', id: after.id, before: saved(before), after: saved(after) })
  return { body: shownAt(await now(tx, environment))(after) }
})

export const v4DeleteAnalyticsView = inTransaction('v4DeleteAnalyticsView', async ({ path, environment, trail, tx }) => {
  const before = await deleteView(tx, environment, path.view_id)
  await audit(tx, trail, { resource: 'analytics_view', id: before.id, before: saved(before) })
  return { body: undefined }
})
