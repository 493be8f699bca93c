import { audit } from '../domain/kernel/audit/record.ts'
import { listClients, removeClient } from '../domain/operators/grants/clients.ts'
import { endGrant, type ListedGrant, listGrants } from '../domain/operators/grants/grant.ts'
import { listCalls, type RecordedCall } from '../domain/operators/mcp-calls/record.ts'
import type { Tx } from '../store/connect.ts'
import { transaction } from '../store/transaction.ts'
import { projectNumber } from './chosen-environment.ts'
import { actorOf } from './command.ts'
import { withDatabase } from './database.ts'
import { action, type GroupDefinition, JSON_OPTION } from './definition.ts'
import { CliError, UsageError } from './failure.ts'
import { commandOf } from './program.ts'
import { jsonText, printable, textTable } from './table.ts'

const MOST_CALLS = 1_000
const SHOWN_CALLS = 50

function limitIn(given: string | undefined): number {
  const limit = Number(given ?? SHOWN_CALLS)
  if (Number.isInteger(limit) && limit >= 1 && limit <= MOST_CALLS) return limit
  throw new UsageError(`--limit must be a number from 1 to ${MOST_CALLS}`)
}

const outcomeOf = ({ outcome, status, is_dry_run }: RecordedCall) =>
  `${outcome === null ? 'unknown' : `${outcome} (${status})`}${is_dry_run ? ', dry run' : ''}`

const CALL_HEADERS = ['time', 'project', 'environment', 'operator', 'client', 'tool', 'outcome', 'reason', 'arguments']
const callRow = (call: RecordedCall) => [
  ...[call.called_at, String(call.project), call.environment, call.operator, printable(call.client_name), call.tool, outcomeOf(call)],
  ...[call.reason === null ? '-' : printable(call.reason), call.arguments === null ? '-' : printable(JSON.stringify(call.arguments))],
]

const callsAction = action({
  name: 'calls',
  summary: 'what assistants have changed or tried to change, newest first',
  options: {
    project: { value: 'PROJECT', says: 'only in this project' },
    limit: { value: 'NUMBER', says: `how many, at most ${MOST_CALLS}; ${SHOWN_CALLS} without it` },
    ...JSON_OPTION,
  },
  details: 'Calls that read are not recorded. Secrets in arguments are masked. Records are kept for 400 days.',
  examples: ['mcp calls', 'mcp calls --project 1 --limit 200 --json'],
  async run({ values }, { env, signal, out }) {
    const [project, limit] = [projectNumber(values.project), limitIn(values.limit)]
    const calls = await withDatabase({ env, signal }, pool => listCalls(pool, { project, limit }))
    if (values.json) out(jsonText(calls))
    else if (calls.length === 0) out('No assistant has changed anything.')
    else for (const line of textTable(CALL_HEADERS, calls.map(callRow), ['project'])) out(line)
    return 0
  },
})

const GRANT_HEADERS = ['id', 'operator', 'client', 'project', 'environment', 'scopes', 'created', 'last used']

const grantsAction = action({
  name: 'grants',
  summary: 'what operators have allowed assistants',
  options: JSON_OPTION,
  examples: ['mcp grants', 'mcp grants --json'],
  async run({ values }, { env, signal, out }) {
    const grants = await withDatabase({ env, signal }, pool => listGrants(pool))
    const rows = grants.map(grant => [
      ...[grant.id, grant.operator, printable(grant.client_name), String(grant.project), grant.environment],
      ...[grant.scopes.join(' '), grant.created_at, grant.last_used_at ?? '-'],
    ])
    if (values.json) out(jsonText(grants))
    else if (grants.length === 0) out('There are no grants.')
    else for (const line of textTable(GRANT_HEADERS, rows, ['project'])) out(line)
    return 0
  },
})

async function auditEnd(tx: Tx, env: Record<string, string | undefined>, operation: string, grant: ListedGrant): Promise<void> {
  const { id, operator, client_id, client_name, project, environment, scopes } = grant
  const trail = { project, environment: null, actor: actorOf(env), operation, requestId: null }
  await audit(tx, trail, { resource: 'grant', id, before: { id, operator, client_id, client_name, environment, scopes } })
}

const endAction = action({
  name: 'end',
  summary: 'end a grant at once',
  arguments: [{ name: 'GRANT', says: 'the id of a grant, see "mcp grants"' }],
  examples: ['mcp end gra_0mfa1k3p2000q7w2e8r1'],
  async run({ args: [id] }, { env, signal, out }) {
    if (id === undefined) throw new UsageError('which grant? "mcp grants" shows the ids')
    await withDatabase({ env, signal }, pool =>
      transaction(pool, async tx => {
        const grant = await endGrant(tx, id)
        if (!grant) throw new CliError(`${printable(id)}: there is no such grant, or it has ended`)
        await auditEnd(tx, env, 'mcp end', grant)
      }),
    )
    out(`Grant ${id} opens nothing any more.`)
    return 0
  },
})

const CLIENT_HEADERS = ['id', 'name', 'redirect URIs', 'grants', 'registered', 'last granted']

const clientsAction = action({
  name: 'clients',
  summary: 'programs that have registered themselves',
  options: JSON_OPTION,
  details: 'A client that names itself by the address of a document is not registered; "mcp grants" shows it.',
  examples: ['mcp clients', 'mcp clients --json'],
  async run({ values }, { env, signal, out }) {
    const clients = await withDatabase({ env, signal }, listClients)
    const rows = clients.map(one => [
      ...[one.id, printable(one.name), one.redirect_uris.map(printable).join(' '), String(one.grants), one.created_at, one.granted_at],
    ])
    if (values.json) out(jsonText(clients))
    else if (clients.length === 0) out('No client has registered itself.')
    else for (const line of textTable(CLIENT_HEADERS, rows, ['grants'])) out(line)
    return 0
  },
})

const endClientAction = action({
  name: 'end-client',
  summary: 'end all grants of a client at once, and remove its registration',
  arguments: [{ name: 'CLIENT', says: 'the id of a client, see "mcp clients", or the address of its document' }],
  examples: ['mcp end-client oac_0mfa1k3p2000q7w2e8r1', 'mcp end-client https://assistant.example.org/client.json'],
  async run({ args: [id] }, { env, signal, out }) {
    if (id === undefined) throw new UsageError('which client? "mcp clients" shows the ids')
    const ended = await withDatabase({ env, signal }, pool =>
      transaction(pool, async tx => {
        const grants = await removeClient(tx, id)
        for (const grant of grants ?? []) await auditEnd(tx, env, 'mcp end-client', grant)
        return grants?.length
      }),
    )
    if (ended === undefined) throw new CliError(`${printable(id)}: there is no such client`)
    out(`The client is removed, and ${ended === 1 ? '1 grant has' : `${ended} grants have`} ended.`)
    return 0
  },
})

export const mcpGroup: GroupDefinition = {
  name: 'mcp',
  summary: 'assistants: their grants and what they have done',
  commands: [callsAction, grantsAction, endAction, clientsAction, endClientAction],
}

export const mcp = commandOf(mcpGroup)
