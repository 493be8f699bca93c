import { createHash } from 'node:crypto'
import { canonicalJson } from '../../domain/kernel/canonical-json.ts'
import { type Confirmable, createConfirmation, useConfirmation } from '../../domain/operators/grants/confirmations.ts'
import type { GrantOwner } from '../../domain/operators/grants/grant.ts'
import { invalidData, Problem } from '../errors.ts'
import { storedHash } from '../idempotency.ts'
import type { McpDeps } from './deps.ts'
import type { Arguments } from './input.ts'
import type { Tool } from './tools.ts'

/** What a dry run says that a call would change. */
export type Changes = { changes: { action: string; object: string }[]; truncated: boolean }

/** What the operator decides on. */
export type AskedConfirmation = {
  token: string
  expires_at: string
  tool: string
  confirm_id: string
  project: string
  environment: string
  summary: string
  changes: Changes['changes']
  truncated: boolean
}

const REASON = { least: 3, most: 500 }

/** Whether the call needs a confirmation. A dry run changes nothing, so it needs none. */
export const needsConfirmation = ({ confirm }: Tool, given: Arguments): boolean =>
  given.dry_run !== true && (confirm === 'always' || (confirm === 'disable' && given.enabled === false))

function confirmIdOf({ confirmed }: Tool, owner: GrantOwner, given: Arguments): string {
  if (confirmed === null) return String(owner.project)
  const id = given[confirmed]
  // The operation refuses anything else; a confirmation is looked at before.
  return typeof id === 'string' ? id : ''
}

/** The arguments may have little more than the id of a customer, who may be erased: nobody should try ids against their hash. */
function confirmable({ secrets }: Pick<McpDeps, 'secrets'>, tool: Tool, owner: GrantOwner, given: Arguments): Confirmable {
  const { confirmation_token, confirm_id, reason, ...rest } = given
  const hash = createHash('sha256').update(canonicalJson(rest)).digest()
  return { grant: owner.keyId, tool: tool.listed.name, arguments: storedHash(secrets, hash) }
}

const VERBS: Record<string, string> = { create: 'creates', update: 'changes', delete: 'deletes', send: 'sends' }

/** `deletes 1 product, changes 2 offering`. */
function counted(changes: Changes['changes']): string {
  const counts = new Map<string, number>()
  for (const { action, object } of changes) {
    const key = `${VERBS[action]} # ${object}`
    counts.set(key, (counts.get(key) ?? 0) + 1)
  }
  return [...counts].map(([key, count]) => key.replace('#', String(count))).join(', ')
}

function summaryOf({ listed }: Tool, owner: GrantOwner, confirmId: string, { changes, truncated }: Changes): string {
  const what = `${listed.title}: ${JSON.stringify(confirmId)} in the ${owner.environmentKind} environment of project ${JSON.stringify(owner.projectName)}`
  return changes.length === 0 ? `${what}.` : `${what}. This ${counted(changes)}${truncated ? ' and more' : ''}.`
}

/** A confirmation for this call and no other. */
export async function offered(deps: McpDeps, tool: Tool, owner: GrantOwner, given: Arguments, dry: Changes): Promise<AskedConfirmation> {
  const { token, expires_at } = await createConfirmation(deps.pool, confirmable(deps, tool, owner, given))
  const confirmId = confirmIdOf(tool, owner, given)
  return {
    token,
    expires_at,
    tool: tool.listed.name,
    confirm_id: confirmId,
    project: owner.projectName,
    environment: owner.environmentKind,
    summary: summaryOf(tool, owner, confirmId, dry),
    changes: dry.changes,
    truncated: dry.truncated,
  }
}

/** Uses the confirmation of a call up. Throws where it confirms another call, or none any more; wrong words leave it usable. */
export async function confirmed(deps: McpDeps, tool: Tool, owner: GrantOwner, given: Arguments): Promise<void> {
  const { confirmation_token: token, confirm_id: confirmId, reason } = given
  const faults = []
  if (confirmId !== confirmIdOf(tool, owner, given))
    faults.push({ field: 'confirm_id', message: `must repeat ${tool.confirmed ?? 'the id of the project'}` })
  const length = typeof reason === 'string' ? [...reason.trim()].length : 0
  if (length < REASON.least || length > REASON.most)
    faults.push({ field: 'reason', message: `must have ${REASON.least} to ${REASON.most} characters` })
  if (faults.length > 0) throw invalidData(faults)
  if (!(await useConfirmation(deps.pool, token as string, confirmable(deps, tool, owner, given))))
    throw new Problem(
      'confirmation_invalid',
      'this confirmation is unknown, used, expired, or of another call: call without it to get a new one',
    )
}

/** The form that asks the operator. */
export const formOf = ({ summary, confirm_id }: AskedConfirmation) => ({
  message: summary,
  requestedSchema: {
    type: 'object' as const,
    properties: {
      confirm_id: { type: 'string' as const, title: 'Id', description: `Repeat ${confirm_id} to confirm.` },
      reason: {
        type: 'string' as const,
        title: 'Reason',
        description: 'Why, for the record.',
        minLength: REASON.least,
        maxLength: REASON.most,
      },
    },
    required: ['confirm_id', 'reason'],
  },
})
