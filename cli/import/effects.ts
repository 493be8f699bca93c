import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { slugOf } from '../../domain/events/catalogue.ts'
import { eventFilter } from '../../domain/integrations/event-filter.ts'
import { HISTORY_MS } from '../../domain/kernel/limits.ts'
import type { components } from '../../schemas/generated/api.ts'
import type { CommandContext } from '../command.ts'
import { CliError } from '../failure.ts'
import { printable } from '../table.ts'
import type { ToItem } from './item.ts'
import { counted } from './progress.ts'
import type { Row } from './rows.ts'

// What `--trigger` would send, shown before the first row is posted: 1,000 purchases of the past have called a webhook 1,000 times.

type Schemas = components['schemas']
/** Events of one name and platform. */
type Kind = { name: string; platform: string | null; count: number }
type Service = { url: string; key: string }

async function read(path: string, { url, key }: Service): Promise<{ status: number; body: unknown; date: string | null }> {
  const headers = { Authorization: `Bearer ${key}` }
  const answer = await fetch(url + path, { headers, redirect: 'manual' }).catch(error => {
    throw new CliError(`${url} cannot be reached: ${(error as Error).message}`)
  })
  const body: unknown = await answer.json().catch(() => null)
  return { status: answer.status, body, date: answer.headers.get('date') }
}

async function must<T>(path: string, service: Service): Promise<T> {
  const { status, body } = await read(path, service)
  if (status !== 200) throw new CliError(`GET ${path} was answered with ${status}: what --trigger would send is not known`)
  return body as T
}

/** Now, in ms, by the clock of the environment. */
async function nowOf(service: Service): Promise<number> {
  const { status, body, date } = await read('/v4/test-clock', service)
  return status === 200 ? Date.parse((body as Schemas['TestClock']).now) : Date.parse(date ?? '')
}

async function allAutomations(service: Service): Promise<Schemas['Automation'][]> {
  const all: Schemas['Automation'][] = []
  for (let after = ''; ; ) {
    const { data, has_more } = await must<{ data: Schemas['Automation'][]; has_more: boolean }>(
      `/v4/automations?limit=100${after}`,
      service,
    )
    all.push(...data)
    if (!has_more) return all
    after = `&starting_after=${data.at(-1)!.id}`
  }
}

/** The events of the rows that are young enough to act, by kind. */
async function youngEvents(rows: AsyncIterable<Row>, item: ToItem, now: number): Promise<Kind[]> {
  const kinds = new Map<string, Kind>()
  for await (const row of rows) {
    const made = item(row.values, row.n)
    if (made.is === 'fault') continue
    const { event_name: name, happened_at, platform = null } = JSON.parse(made.json)
    if (!(now - Date.parse(happened_at) <= HISTORY_MS)) continue
    const key = `${name} ${platform}`
    const kind = kinds.get(key) ?? { name, platform, count: 0 }
    kinds.set(key, { ...kind, count: kind.count + 1 })
  }
  return [...kinds.values()]
}

const countOf = (kinds: Kind[], takes: (kind: Kind) => boolean): number => kinds.filter(takes).reduce((sum, { count }) => sum + count, 0)

/** A line for each automation and integration that would get events, with at most how many. */
async function receivers(kinds: Kind[], service: Service): Promise<string[]> {
  const lines: string[] = []
  for (const { name, status, data } of await allAutomations(service)) {
    if (status === 'inactive') continue
    const slugs = new Set(data.initiators.map(({ uid }) => slugOf(uid)))
    const count = countOf(kinds, kind => slugs.has(kind.name))
    const [state, what] = status === 'paused' ? [', paused', 'skips'] : ['', 'gets']
    if (count > 0) lines.push(`automation ${JSON.stringify(name)}${state}: ${what} up to ${counted(count)}`)
  }
  const { data: integrations } = await must<{ data: Schemas['Integration'][] }>('/v4/integrations', service)
  for (const { id, title, active, target_platform } of integrations) {
    const config = await must<Schemas['IntegrationConfig']>(`/v4/integrations/${id}/config`, service)
    const { integration: slug, events, event_mapping } = config
    const takes = eventFilter({ slug, target_platform, from_offsets: null, events, event_mapping })
    const count = countOf(kinds, takes)
    const state = active === 0 ? ', paused: sent when it is active again' : ''
    if (count > 0) lines.push(`integration ${JSON.stringify(title)}${state}: gets up to ${counted(count)}`)
  }
  return lines
}

/** The first line that somebody types; an empty text if nobody does. */
async function typed(input: Readable, signal: AbortSignal): Promise<string> {
  const lines = createInterface({ input })
  try {
    const [line] = await Promise.race([once(lines, 'line', { signal }), once(lines, 'close', { signal })])
    return String(line ?? '')
  } finally {
    lines.close()
  }
}

/** Says what would be sent, and asks whether to go on where somebody sits at a terminal. Throws if not. */
export async function confirmEffects(
  rows: AsyncIterable<Row>,
  item: ToItem,
  service: Service,
  { note, stdin, signal }: CommandContext,
): Promise<void> {
  const kinds = await youngEvents(rows, item, await nowOf(service))
  const young = countOf(kinds, () => true)
  note(`${counted(young)} events are younger than 72 hours and may start automations and go to integrations; older ones are stored only.`)
  if (young === 0) return
  const lines = await receivers(kinds, service)
  for (const line of lines) note(printable(`  ${line}`))
  if (lines.length === 0) note('  no automation and no integration takes them')
  const input = stdin()
  if (!(input as Readable & { isTTY?: boolean }).isTTY) return
  note('Import and send? Type yes:')
  if ((await typed(input, signal)).trim().toLowerCase() !== 'yes') throw new CliError('nothing was imported')
}
