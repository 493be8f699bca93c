import type { Db } from '../../../store/connect.ts'
import type { Environment } from '../../kernel/environment.ts'
import { notFound } from '../../kernel/refusal.ts'
import { isoMicros } from '../../kernel/time/instant.ts'
import { SOURCES, type TimelineKind } from './sources.ts'

type Text = string | null
type Json = Record<string, unknown> | null
type PurchaseData = Record<'id' | 'platform' | 'store_product_id' | 'currency' | 'amount', string> &
  Record<'user_id' | 'base_plan_id' | 'period_type' | 'expires_at' | 'refunded_at', Text>
type Actor = { actor_kind: string; actor_id: Text; operation: string }
type EventData = { name: string } & Record<'platform' | 'product_id' | 'screen_id' | 'currency' | 'price' | 'transaction_id', Text>
type RunData = Record<'automation_id' | 'event_id' | 'event_name' | 'status', string> & Record<'reason' | 'replay_of' | 'finished_at', Text>
type DeliveryData = Record<'event_id' | 'event_name' | 'source' | 'status', string> &
  Record<'run_id' | 'reason' | 'delivered_at', Text> & { attempt_count: number }
type ScreenData = Record<'screen_id' | 'automation_id' | 'run_id' | 'expires_at', string> & { shown_at: Text }

/** `at`: in whole seconds; times in `data` may have fractions. `key`: the id. `named`: what the entry names, null where it is gone. */
export type TimelineRow = { at: string; key: string } & (
  | { source: 'event'; data: EventData; named: null }
  | { source: 'payment' | 'refund'; data: PurchaseData; named: null }
  | { source: 'grant'; data: Actor & { resource_id: string; before: Json; after: Json }; named: null }
  | { source: 'expiry'; data: { entitlement_id: string; expires_at: string }; named: null }
  | { source: 'run'; data: RunData; named: { name: string } | null }
  | { source: 'delivery'; data: DeliveryData; named: { id: string; title: string; is_active: boolean } | null }
  | { source: 'screen'; data: ScreenData; named: { name: string } | null }
  | { source: 'assignment'; data: { group_id: string; pinned: boolean }; named: { experiment: Text; group: Text } }
  | { source: 'change'; data: Actor & { resource: string; resource_id: Text; reason: Text }; named: null }
)

/** After the last one of these keys no entry of the same time is left, before the first one all are. */
const KEYS = { first: `'\u{10FFFF}'`, last: `''` }
const NUMBERS = { first: '9223372036854775807', last: '-1' }

// $5: the number of the cursor's source. Of the cursor's time, the sources before it are read, and those after it are not.
const branches = SOURCES.map(({ kind, rows, isNumbered }, n) => {
  const { first, last } = isNumbered ? NUMBERS : KEYS
  const own = isNumbered ? '$8::bigint' : '$6::text'
  const bound = `(case when $5::int < ${n} then ${first} when $5 = ${n} then ${own} else ${last} end)`
  return `select ${n} as source, at, key, data from (${rows(bound)}) s${n} where '${kind}' = any ($3::text[])`
})

// Each id as a range in the order of the primary key: for an equality, any index of the environment looks as good to a planner without statistics.
const one = (table: string, columns: string, id: string) =>
  `(select ${columns} from ${table} t where t.environment = $1 and t.id >= ${id} and t.id <= ${id} order by t.id limit 1)`
const NAMED: Partial<Record<TimelineRow['source'], string>> = {
  run: one('automations', `jsonb_build_object('name', t.name)`, `p.data ->> 'automation_id'`),
  delivery: `(select jsonb_build_object('id', i.id, 'title', i.title, 'is_active', i.active = 1) from integrations i
    where i.number = (p.data ->> 'integration')::int)`,
  screen: one('screens', `jsonb_build_object('name', t.name)`, `p.data ->> 'screen_id'`),
  assignment: `jsonb_build_object('experiment', ${one('experiments', 't.name', 'p.key')}, 'group', ${one('experiment_groups', 't.name', `p.data ->> 'group_id'`)})`,
}
const named = Object.entries(NAMED).map(([name, sql]) => `when ${SOURCES.findIndex(source => source.name === name)} then ${sql}`)

const STATEMENT = `
  select p.source, p.at, (extract(epoch from p.at) * 1000000)::bigint as micros, p.key, p.data, case p.source ${named.join(' ')} end as named
  from (select * from (${branches.join(' union all ')}) entries order by at desc, source, key desc limit $7) p
  order by p.at desc, p.source, p.key desc`

/** `micros`, the number of the source, and the key of the entry after which a page begins. */
type Cursor = { micros: number; source: number; key: string }

const CURSOR = /^(\d{1,16})\.([a-z]+)\.([A-Za-z0-9._-]{1,200})$/

function cursorOf(text: string): Cursor | null {
  const [, micros, name, key] = CURSOR.exec(text) ?? []
  const source = SOURCES.findIndex(one => one.name === name)
  if (source < 0 || !Number.isSafeInteger(Number(micros))) return null
  return SOURCES[source]!.isNumbered && !/^\d{1,18}$/.test(key!.replace(/^0+(?=\d)/, ''))
    ? null
    : { micros: Number(micros), source, key: key! }
}

type Row = Pick<TimelineRow, 'at' | 'key'> & { source: number; micros: number; data: unknown; named: unknown }
/** `next`: the cursor of the next page; null: there is none. `restarted`: the cursor is none of this list. */
export type TimelinePage = { rows: TimelineRow[]; next: string | null; restarted: boolean }
type Request = { kinds: readonly TimelineKind[]; limit: number; after: string | undefined }

/**
 * What happened to a user, newest first. Throws `not_found`. `listing`: connections that plan once and do not sort what an index has in order; to
 * others, before the first analyze, another index and a sort look as good.
 */
export async function readTimeline(
  listing: Db,
  environment: Environment,
  user: string,
  { kinds, limit, after }: Request,
): Promise<TimelinePage> {
  const known = await listing.query({
    name: 'user-of-timeline',
    text: 'select from users where environment = $1 and id >= $2 and id <= $2 order by id limit 1',
    values: [environment, user],
  })
  if (known.rowCount === 0) throw notFound('customer')
  const cursor = after === undefined ? null : cursorOf(after)
  const isNumbered = cursor !== null && SOURCES[cursor.source]!.isNumbered
  const { rows } = await listing.query<Row>({
    name: 'timeline',
    text: STATEMENT,
    values: [
      ...[environment, user, kinds, cursor ? isoMicros(cursor.micros) : 'infinity', cursor?.source ?? -1, cursor?.key ?? ''],
      ...[limit + 1, isNumbered ? cursor.key : null],
    ],
  })
  const shown = rows.slice(0, limit)
  const last = rows.length > limit ? shown.at(-1)! : null
  return {
    rows: shown.map(({ source, ...row }) => ({ ...row, source: SOURCES[source]!.name }) as TimelineRow),
    next: last && `${last.micros}.${SOURCES[last.source]!.name}.${last.key}`,
    restarted: after !== undefined && cursor === null,
  }
}
