// What every statement of this process reads, as Postgres itself tells: auto_explain sends the executed plan with each statement.
import pg from 'pg'
import { inject } from 'vitest'
import type { Pool } from '../../store/connect.ts'
import type { TestServer } from './database.ts'
import { executeAll } from './superuser.ts'

type Node = {
  'Node Type': string
  'Relation Name'?: string
  'Index Name'?: string
  'Actual Rows'?: number
  'Index Cond'?: string
  'Actual Loops'?: number
  'Rows Removed by Filter'?: number
  'Rows Removed by Index Recheck'?: number
  'Rows Removed by Join Filter'?: number
  'Shared Hit Blocks'?: number
  'Shared Read Blocks'?: number
  Plans?: Node[]
}
type Plan = { 'Query Text': string; Plan: Node }

/**
 * A statement as it was executed: how many rows its scans read, how many pages, and its plan as a few lines. The entries of an index that do not
 * match a condition on its later columns are no rows, but they are in the pages.
 */
export type Executed = { text: string; rows: number; pages: number; plan: string }

const READS = /Scan$/
const readBy = (node: Node): number => {
  const each = (node['Actual Rows'] ?? 0) + (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0)
  const own = READS.test(node['Node Type']) && node['Relation Name'] ? each : (node['Rows Removed by Join Filter'] ?? 0)
  return own * (node['Actual Loops'] ?? 0)
}
const pagesOf = (node: Node): number => (node['Shared Hit Blocks'] ?? 0) + (node['Shared Read Blocks'] ?? 0)
const sum = (node: Node): number => readBy(node) + (node.Plans ?? []).reduce((total, inner) => total + sum(inner), 0)
const outline = (node: Node, depth = 0): string =>
  [
    `${'  '.repeat(depth)}${node['Node Type']} ${node['Index Name'] ?? node['Relation Name'] ?? ''} ${readBy(node)} ${pagesOf(node)} ${node['Index Cond'] ?? ''}`,
    ...(node.Plans ?? []).map(inner => outline(inner, depth + 1)),
  ].join('\n')

/** The statement without what differs from one execution to the next. */
const shapeOf = (text: string) =>
  text
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/(?<![$\w])\d+/g, '0')
    .trim()

/** By statement of the service: the executions that read most rows, and most pages. */
export type Worst = Map<string, { rows: Executed; pages: Executed }>

/**
 * Makes every later connection to the database explain its statements, those within functions too, and keeps what they say since the last call of
 * `taken`; `indexes`: those that any of them has read. To be called before the pools connect.
 */
export async function explainAll(pool: Pool, server: TestServer): Promise<{ taken(): Worst; indexes: ReadonlySet<string>; stop(): void }> {
  const client = await pool.connect()
  const { rows } = await client.query<{ name: string }>('select quote_ident(current_database()) as name')
  const settings = {
    session_preload_libraries: 'auto_explain',
    'auto_explain.log_min_duration': 0,
    'auto_explain.log_analyze': 'on',
    'auto_explain.log_timing': 'off',
    'auto_explain.log_buffers': 'on',
    'auto_explain.log_nested_statements': 'on',
    'auto_explain.log_format': 'json',
    'auto_explain.log_level': 'notice',
    'auto_explain.log_parameter_max_length': 0,
  }
  await executeAll(
    inject(server).superuser,
    Object.entries(settings).map(([name, value]) => `alter database ${rows[0]!.name} set ${name} = '${value}'`),
  )
  // The settings are for later connections: this one must not be used again.
  client.release(true)
  let worst: Worst = new Map()
  const indexes = new Set<string>()
  const noteIndexes = ({ 'Index Name': name, Plans: inner = [] }: Node): void => {
    if (name) indexes.add(name)
    inner.forEach(noteIndexes)
  }
  const shapes = new Map<string, string>()
  const keep = ({ 'Query Text': query, Plan: plan }: Plan) => {
    const text = shapes.get(query) ?? shapeOf(query)
    shapes.set(query, text)
    noteIndexes(plan)
    const rows = sum(plan)
    const pages = pagesOf(plan)
    const most = worst.get(text)
    if (most && most.rows.rows >= rows && most.pages.pages >= pages) return
    const executed = { text, rows, pages, plan: outline(plan) }
    worst.set(text, {
      rows: most && most.rows.rows > rows ? most.rows : executed,
      pages: most && most.pages.pages > pages ? most.pages : executed,
    })
  }
  const listen = (client: pg.Client) =>
    client.on('notice', ({ message }) => {
      const json = message?.indexOf('plan:\n{') ?? -1
      // The statements of pg-boss are none of ours, and to parse what they tell takes time.
      if (!message || json < 0 || message.includes('pgboss.')) return
      keep(JSON.parse(message.slice(json + 6)))
    })
  const connect = pg.Client.prototype.connect
  pg.Client.prototype.connect = function (this: pg.Client, ...args: Parameters<typeof connect>) {
    listen(this)
    return connect.apply(this, args)
  } as typeof connect
  return {
    taken() {
      const all = worst
      worst = new Map()
      return all
    },
    indexes,
    stop() {
      pg.Client.prototype.connect = connect
    },
  }
}
