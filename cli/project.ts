import { parseArgs } from 'node:util'
import { type Config, readConfig } from '../config.ts'
import { createProject } from '../domain/projects/create.ts'
import { listProjects } from '../domain/projects/list.ts'
import { setRawData } from '../domain/projects/raw-data.ts'
import { rotateSecretKey } from '../domain/projects/rotate.ts'
import { transaction } from '../store/transaction.ts'
import type { Command } from './command.ts'
import { withDatabase } from './database.ts'
import { UsageError } from './failure.ts'
import { table } from './table.ts'

type Verb = (args: string[], config: Config, out: (line: string) => void) => Promise<void>

const MAX_ID = 2 ** 31 - 1
const MAX_NAME = 200

function idOf(text: string | undefined): number {
  if (text === undefined) throw new UsageError('which project? "project list" shows their ids')
  const id = /^\d+$/.test(text) ? Number(text) : 0
  if (id < 1 || id > MAX_ID) throw new UsageError(`${JSON.stringify(text)} is no project id: "project list" shows them`)
  return id
}

/** Exactly as many arguments as there are names. */
function positionals(args: string[], ...names: string[]): (string | undefined)[] {
  const given = parseArgs({ args, allowPositionals: true, options: {} }).positionals
  if (given.length > names.length) throw new UsageError(`too many arguments: ${given.slice(names.length).join(' ')}`)
  return given
}

const create: Verb = async (args, config, out) => {
  const { values } = parseArgs({ args, options: { name: { type: 'string' } } })
  const name = values.name?.trim()
  if (!name) throw new UsageError('--name NAME is missing')
  if (name.length > MAX_NAME || /\p{Cc}/u.test(name)) throw new UsageError(`--name must have at most ${MAX_NAME} printable characters`)
  const made = await withDatabase(config, (pool, secrets) => transaction(pool, tx => createProject(tx, secrets, { name })))
  out(`Project ${made.id}`)
  out(`  Secret Key   ${made.secretKey}`)
  out(`  Sandbox key  test_${made.secretKey}`)
  out(`  Project Key  ${made.projectKey}`)
}

const list: Verb = async (args, config, out) => {
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
  for (const line of table(headers, rows, ['id', 'users'])) out(line)
}

const rotate: Verb = async (args, config, out) => {
  const [given] = positionals(args, 'ID')
  const id = idOf(given)
  const key = await withDatabase(config, (pool, secrets) => transaction(pool, tx => rotateSecretKey(tx, secrets, id)))
  out(`Project ${id}`)
  out(`  Secret Key   ${key}`)
  out(`  Sandbox key  test_${key}`)
  out('The old key works for at most 10 s more.')
}

const rawData: Verb = async (args, config, out) => {
  const [state, given] = positionals(args, 'on|off', 'ID')
  if (state !== 'on' && state !== 'off') throw new UsageError('raw-data on or off?')
  const id = idOf(given)
  await withDatabase(config, pool => setRawData(pool, id, state === 'on'))
  out(`Raw data of project ${id} is ${state}${state === 'off' ? ': new exports are refused' : ''}.`)
}

const VERBS = new Map<string, Verb>([
  ['create', create],
  ['list', list],
  ['rotate', rotate],
  ['raw-data', rawData],
])

export const project: Command = async ([name, ...args], { env, out }) => {
  const verb = VERBS.get(name ?? '')
  if (verb === undefined) throw new UsageError(`project create, list, rotate or raw-data?`)
  await verb(args, readConfig(env), out)
  return 0
}
