import type { RequestInput } from '../run.ts'
import type { Changes } from './confirm.ts'
import type { Tool } from './tools.ts'

/** The request without its effect. Throws for an operation that cannot be rehearsed: it would be performed. */
export function rehearsalOf({ route, sources }: Tool, input: RequestInput): RequestInput {
  const { id, dryRun } = route.description
  const rehearsal = { ...input, repeat: undefined, dryRun: true }
  if (dryRun === 'rollback' || dryRun === 'plan') return rehearsal
  if (dryRun !== 'own' || sources.dry_run?.[0] !== 'body') throw new Error(`${id} has no dry run, so nobody can confirm it`)
  return { ...rehearsal, body: { ...(input.body as Record<string, unknown>), dry_run: true } }
}

/** What an operation that rehearses in its own way says about its one change. */
type OwnDry = { entity_type: string; entity_id: string; field: string; before: string; after: string; would_send: object | null }

/** What the answer to a rehearsal says that would change. */
export function rehearsedChanges({ route }: Tool, answer: unknown): Changes {
  if (route.description.dryRun !== 'own') return answer as Changes
  const { entity_type, entity_id, field, before, after, would_send } = answer as OwnDry
  if (would_send === null) return { changes: [], truncated: false }
  const change = {
    action: 'update',
    object: `apple_ads_${entity_type}`,
    id: entity_id,
    before: { [field]: before },
    after: { [field]: after },
  }
  return { changes: [change], truncated: false }
}
