import { orderedId } from '../../store/ids.ts'
import type { RequestInput } from '../run.ts'
import type { Changes } from './confirm.ts'
import type { Tool } from './tools.ts'

/** The request without its effect. Throws for an operation that cannot be rehearsed: it would be performed. */
export function rehearsalOf({ route, sources }: Tool, input: RequestInput): RequestInput {
  const { id, dryRun } = route.description
  const rehearsal = { ...input, repeat: undefined, dryRun: true }
  if (dryRun === 'rollback' || dryRun === 'plan') return rehearsal
  if (dryRun !== 'own' || sources.dry_run?.[0] !== 'body') throw new Error(`${id} has no dry run, so nobody can confirm it`)
  const body = input.body as Record<string, unknown>
  // The operation keeps the answer by the key, which is that of the call to come.
  const isKept = body.idempotency_key !== undefined
  return { ...rehearsal, body: { ...body, dry_run: true, ...(isKept && { idempotency_key: orderedId('dry') }) } }
}

/** What an operation that rehearses in its own way says about its one change. */
type OwnDry = { entity_type: string; entity_id: string; field: string; before: string; after: string }

/** What the answer to a rehearsal says that would change. */
export function rehearsedChanges({ route }: Tool, answer: unknown): Changes {
  if (route.description.dryRun !== 'own') return answer as Changes
  const { entity_type, entity_id, field, before, after } = answer as OwnDry
  const change = {
    action: 'update',
    object: `apple_ads_${entity_type}`,
    id: entity_id,
    before: { [field]: before },
    after: { [field]: after },
  }
  return { changes: [change], truncated: false }
}
