import { parseArgs } from 'node:util'
import { type Config, readConfig } from '../app/config.ts'
import { audit, type Trail } from '../domain/audit/record.ts'
import { createProject } from '../domain/projects/create.ts'
import { rotateSecretKey } from '../domain/projects/keys.ts'
import { type PolicyName, PROJECT_POLICIES, type ProjectPolicies, setPolicies } from '../domain/projects/policies.ts'
import { listProjects, setRawData } from '../domain/projects/settings.ts'
import { transaction } from '../store/transaction.ts'
import { projectId } from './arguments.ts'
import { actorOf, type CliCommand } from './command.ts'
import { withDatabase } from './database.ts'
import { UsageError } from './failure.ts'
import { textTable } from './table.ts'

type Call = { args: string[]; config: Config; out: (line: string) => void; trailOf: (project: number) => Trail }
type Verb = (call: Call) => Promise<void>

const MAX_NAME = 200

/** At most as many arguments as there are names. */
function positionals(args: string[], ...names: string[]): (string | undefined)[] {
  const given = parseArgs({ args, allowPositionals: true, options: {} }).positionals
  if (given.length > names.length) throw new UsageError(`too many arguments: ${given.slice(names.length).join(' ')}`)
  return given
}

const create: Verb = async ({ args, config, out, trailOf }) => {
  const { values } = parseArgs({ args, options: { name: { type: 'string' } } })
  const name = values.name?.trim()
  if (!name) throw new UsageError('--name NAME is missing')
  if (name.length > MAX_NAME || /\p{Cc}/u.test(name)) throw new UsageError(`--name must have at most ${MAX_NAME} printable characters`)
  const made = await withDatabase(config, (pool, secrets) =>
    transaction(pool, async tx => {
      const project = await createProject(tx, secrets, { name })
      await audit(tx, trailOf(project.id), { resource: 'project', id: String(project.id), after: { project_name: name } })
      return project
    }),
  )
  out(`Project ${made.id}`)
  out(`  Secret Key   ${made.secretKey}`)
  out(`  Sandbox key  test_${made.secretKey}`)
  out(`  Project Key  ${made.projectKey}`)
}

const list: Verb = async ({ args, config, out }) => {
  positionals(args)
  const projects = await withDatabase(config, pool => listProjects(pool))
  const rows = projects.map(({ id, name, created_at, users, raw_data, last_event_at }) => [
    String(id),
    name,
    created_at,
    String(users),
    raw_data ? 'on' : 'off',
    last_event_at ?? '-',
  ])
  const headers = ['id', 'name', 'created', 'users', 'raw data', 'last event']
  for (const line of textTable(headers, rows, ['id', 'users'])) out(line)
}

const rotate: Verb = async ({ args, config, out, trailOf }) => {
  const {
    values,
    positionals: [given, ...rest],
  } = parseArgs({ args, allowPositionals: true, options: { now: { type: 'boolean' } } })
  if (rest.length > 0) throw new UsageError(`too many arguments: ${rest.join(' ')}`)
  const now = values.now ?? false
  const id = projectId(given)
  const key = await withDatabase(config, (pool, secrets) =>
    transaction(pool, async tx => {
      const made = await rotateSecretKey(tx, secrets, id, { now })
      await audit(tx, trailOf(id), { resource: 'project', id: String(id) })
      return made
    }),
  )
  out(`Project ${id}`)
  out(`  Secret Key   ${key}`)
  out(`  Sandbox key  test_${key}`)
  out(
    now
      ? 'The old key is refused: for project settings and keys at once, for the rest within 4 s.'
      : 'The old key works for at most 10 s more, and no more for project settings and keys.',
  )
}

const rawData: Verb = async ({ args, config, out, trailOf }) => {
  const [state, given] = positionals(args, 'on|off', 'ID')
  if (state !== 'on' && state !== 'off') throw new UsageError('raw-data on or off?')
  const id = projectId(given)
  await withDatabase(config, pool =>
    transaction(pool, async tx => {
      const on = state === 'on'
      const before = await setRawData(tx, id, on)
      if (before !== on)
        await audit(tx, trailOf(id), { resource: 'project', id: String(id), before: { raw_data: before }, after: { raw_data: on } })
    }),
  )
  out(`Raw data of project ${id} is ${state}${state === 'off' ? ': new exports are refused' : ''}.`)
}

const OPTIONS: Record<string, PolicyName> = {
  'transfer-policy': 'transfer_policy',
  'sandbox-access': 'sandbox_access',
  'refund-preference': 'refund_preference',
}

/** `a, b or c`. */
const oneOf = (words: readonly string[]) => `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`

function policiesIn(values: Record<string, string | undefined>): Partial<ProjectPolicies> {
  const given = Object.entries(OPTIONS).flatMap(([option, name]) => {
    const value = values[option]
    const known: readonly string[] = PROJECT_POLICIES[name]
    if (value !== undefined && !known.includes(value)) throw new UsageError(`--${option} ${oneOf(known)}?`)
    return value === undefined ? [] : [[name, value]]
  })
  if (given.length === 0) throw new UsageError(`project set ID: ${oneOf(Object.keys(OPTIONS).map(option => `--${option}`))}?`)
  return Object.fromEntries(given)
}

const set: Verb = async ({ args, config, out, trailOf }) => {
  const options = Object.fromEntries(Object.keys(OPTIONS).map(option => [option, { type: 'string' as const }]))
  const { values, positionals: given } = parseArgs({ args, allowPositionals: true, options })
  if (given.length > 1) throw new UsageError(`too many arguments: ${given.slice(1).join(' ')}`)
  const id = projectId(given[0])
  const policies = policiesIn(values as Record<string, string | undefined>)
  await withDatabase(config, pool =>
    transaction(pool, async tx => {
      const before = await setPolicies(tx, id, policies)
      const changed = Object.keys(before) as PolicyName[]
      if (changed.length === 0) return
      const after = Object.fromEntries(changed.map(name => [name, policies[name]]))
      await audit(tx, trailOf(id), { resource: 'project', id: String(id), before, after })
    }),
  )
  for (const [name, value] of Object.entries(policies)) {
    const words = name.replaceAll('_', ' ')
    out(`${words[0]!.toUpperCase()}${words.slice(1)} of project ${id} is ${value}.`)
  }
}

const VERBS = new Map<string, Verb>([
  ['create', create],
  ['list', list],
  ['rotate', rotate],
  ['raw-data', rawData],
  ['set', set],
])

export const project: CliCommand = async ([name, ...args], { env, out }) => {
  const verb = VERBS.get(name ?? '')
  if (verb === undefined) throw new UsageError(`project create, list, rotate, raw-data or set?`)
  const trailOf = (project: number): Trail => ({
    project,
    environment: null,
    actor: actorOf(env),
    operation: `project ${name}`,
    requestId: null,
  })
  await verb({ args, config: readConfig(env), out, trailOf })
  return 0
}
