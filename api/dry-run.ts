import type { AuditEntry } from '../domain/kernel/audit/record.ts'
import { type OperationDescription, validateDryRun } from '../schemas/generated/operations.ts'
import { invalidData } from './errors.ts'
import { maskedFields } from './masked.ts'

const HEADER = 'Dry-Run'

type HeaderValue = string | string[] | undefined

/** Whether the header asks for a dry run. An operation that changes nothing ignores the header. */
export function readDryRun({ dryRun }: Pick<OperationDescription, 'dryRun'>, header: HeaderValue): boolean {
  if (dryRun === null || header === undefined) return false
  if (header === 'true' || header === 'false') return header === 'true'
  throw invalidData([{ field: HEADER, message: 'must be true or false' }])
}

/** Whether a refusal of the request concerns no real call: it was to be a dry run, even if it does not say so well. */
export const meansDryRun = ({ dryRun }: Pick<OperationDescription, 'dryRun'>, header: HeaderValue): boolean =>
  dryRun !== null && header !== undefined && header !== 'false'

/** One change that the operation would make. `id`: null where it is not known before. */
type Change = {
  action: 'create' | 'update' | 'delete' | 'send'
  object: string
  id: string | null
  before: Record<string, unknown> | null
  after: Record<string, unknown> | null
}

const MAX_CHANGES = 100

/** Describes the answer to a dry run, whatever the operation. */
export const DESCRIBED_DRY_RUN = { id: 'dry run', status: 200, validate: { answer: { 200: validateDryRun } } }

/** The answer to a dry run: the status of the real call, and the audit entries of its transaction as changes. */
export const dryRunOf = (description: OperationDescription, sent: Sent, entries: readonly AuditEntry[]) => ({
  object: 'dry_run' as const,
  status: description.status,
  changes: entries.slice(0, MAX_CHANGES).map(entry => changeOf(description, sent, entry)),
  truncated: entries.length > MAX_CHANGES,
})

type Sent = { path: Record<string, string>; body: unknown }

function changeOf({ method, secrets }: OperationDescription, sent: Sent, entry: AuditEntry): Change {
  const { resource: object, id, before = null, after = null } = entry
  const action = actionOf(method, entry)
  const shown = (value: object | null) => value && maskedFields(JSON.parse(JSON.stringify(value)), secrets)
  const isNew = before === null && after !== null
  if (!isNew || isKnown(sent, id)) return { action, object, id, before: shown(before), after: shown(after) }
  return { action, object, id: null, before: null, after: withoutId(shown(after), id!) }
}

function actionOf(method: OperationDescription['method'], { before = null, after = null, isSend }: AuditEntry): Change['action'] {
  if (isSend) return 'send'
  if (before && after) return 'update'
  if (before || after) return before ? 'delete' : 'create'
  return method === 'DELETE' ? 'delete' : 'update'
}

/** Whether the caller has named the id: in the path, or in a field of the body that is an id. */
function isKnown({ path, body }: Sent, id: string | null): boolean {
  const named = Object.entries(body ?? {}).filter(([name]) => name === 'id' || name.endsWith('_id'))
  return id === null || [...Object.values(path), ...named.map(([, value]) => value)].includes(id)
}

/** The id of a creation is generated again by the real call, so nobody can use the one of a dry run. */
const withoutId = (after: Record<string, unknown> | null, id: string): Record<string, unknown> | null =>
  after &&
  Object.fromEntries(
    Object.entries(after).map(([name, value]) => [
      name,
      value === id || (name === 'url' && typeof value === 'string' && value.split('/').includes(id)) ? null : value,
    ]),
  )
