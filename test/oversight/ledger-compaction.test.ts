import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { compactLedger } from '../../domain/durable/ledger-history/compact.ts'
import { LEDGER_KINDS, type LedgerKind } from '../../domain/durable/ledger-history/history.ts'
import { readLedger } from '../../domain/oversight/ledger/read.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { share } from '../harness/effort.ts'

let api: TestApi
beforeAll(async () => {
  api = await startApi()
  // A zone with a half hour and daylight saving: compaction must go by UTC.
  const { rows } = await api.pool.query<{ name: string }>('select current_database() as name')
  await api.pool.query(`alter database "${rows[0]!.name}" set timezone = 'Australia/Lord_Howe'`)
})
afterAll(() => api.stop())

const HOUR = 3600
const DAY = 24 * HOUR
const iso = (seconds: number) => new Date(seconds * 1000).toISOString()
const seconds = (time: string) => Date.parse(time) / 1000
const down = (at: number, span: number) => Math.floor(at / span) * span

type Count = { kind: LedgerKind; ago: number; outcome: string; count: number }
const count: fc.Arbitrary<Count> = fc.record({
  kind: fc.constantFrom('automation_runs' as const, 'deliveries' as const),
  ago: fc.oneof(fc.integer({ min: 0, max: 2 * DAY }), fc.integer({ min: 88 * DAY, max: 93 * DAY }), fc.integer({ min: 0, max: 400 * DAY })),
  outcome: fc.constantFrom('failed', 'delivered', 'succeeded'),
  count: fc.integer({ min: 1, max: 9 }),
})

async function add(environment: number, now: number, counts: readonly Count[]): Promise<void> {
  for (const { kind, ago, outcome, count } of counts)
    await api.pool.query(
      `insert into ledger_history (environment, kind, due_at, outcome, reason, count) values ($1, $2, $3, $4, '', $5)
       on conflict (environment, kind, due_at, outcome, reason) do update set count = ledger_history.count + excluded.count`,
      [environment, kind, iso(now - ago), outcome, count],
    )
}

async function compactAll(environment: number): Promise<void> {
  while ((await compactLedger(api.pool, 3, environment)) > 0);
}

const rowsOf = async (table: string, environment: number) =>
  (await api.pool.query<{ n: number }>(`select count(*)::int as n from ${table} where environment = $1`, [environment])).rows[0]!.n

test('the counts of a window are exact before and after compaction; its edges move outward to the end of a compacted span', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(count, { minLength: 1, maxLength: 25 }),
      fc.array(count, { maxLength: 10 }),
      fc.array(fc.tuple(fc.integer({ min: 0, max: 405 * DAY }), fc.integer({ min: 1, max: 40 * DAY }), fc.boolean()), {
        minLength: 1,
        maxLength: 8,
      }),
      async (first, late, windows) => {
        const { production: environment } = await api.newProject()
        const now = Math.floor(Date.now() / 1000)
        await add(environment, now, first)
        await compactAll(environment)
        // Retention removes more rows of the same time later.
        await add(environment, now, late)
        const all = [...first, ...late]
        const check = async (isCompacted: boolean) => {
          for (const [ago, length, isNear] of windows) {
            // Also windows with an edge close to a count.
            const near = now - all[ago % all.length]!.ago
            const requested = isNear
              ? { from: near - (length % 7200), to: near + (ago % 7200) + 1 }
              : { from: now - ago, to: now - ago + length }
            const { window, entries } = await readLedger(api.pool, environment, LEDGER_KINDS, {
              from: iso(requested.from),
              to: iso(requested.to),
              now: iso(now),
            })
            const [from, to] = [seconds(window.from), seconds(window.to)]
            expect(from).toBeLessThanOrEqual(requested.from)
            expect(to).toBeGreaterThanOrEqual(requested.to)
            const span = (at: number) => (at < now - 90 * DAY ? DAY : at < now - DAY ? HOUR : 1)
            if (isCompacted) {
              expect(requested.from - from).toBeLessThan(span(requested.from))
              expect(to - requested.to).toBeLessThan(span(requested.to))
            }
            if (from !== requested.from) expect([down(requested.from, HOUR), down(requested.from, DAY)]).toContain(from)
            if (to !== requested.to) expect([down(requested.to, HOUR) + HOUR, down(requested.to, DAY) + DAY]).toContain(to)
            for (const entry of entries) {
              const within = all.filter(({ kind, ago }) => kind === entry.kind && now - ago >= from && now - ago < to)
              expect(entry.promised).toBe(within.reduce((sum, { count }) => sum + count, 0))
              for (const [outcome, counted] of Object.entries(entry.outcomes))
                expect(counted).toBe(within.filter(one => one.outcome === outcome).reduce((sum, { count }) => sum + count, 0))
            }
          }
        }
        await check(false)
        await compactAll(environment)
        await check(true)
      },
    ),
    { numRuns: share(25) },
  )
})

test('counts by second become one row per hour after a day and one per UTC day after 90 days', async () => {
  const { production: environment } = await api.newProject()
  const now = Math.floor(Date.now() / 1000)
  const one = { kind: 'deliveries' as const, outcome: 'failed', count: 1 }
  const hour = down(now - 3 * DAY, HOUR)
  const day = down(now - 95 * DAY, DAY)
  const at = (time: number) => ({ ...one, ago: now - time })
  await add(
    environment,
    now,
    Array.from({ length: 40 }, (_, i) => at(hour + i * 90)),
  )
  await add(
    environment,
    now,
    Array.from({ length: 40 }, (_, i) => at(day + i * 2160)),
  )
  await add(environment, now, [at(now - 100)])
  const window = { from: iso(now - 200 * DAY), to: iso(now), now: iso(now) }
  const { entries: before } = await readLedger(api.pool, environment, LEDGER_KINDS, window)
  await compactAll(environment)
  expect([await rowsOf('ledger_history', environment), await rowsOf('ledger_compacted', environment)]).toEqual([1, 2])
  expect((await readLedger(api.pool, environment, LEDGER_KINDS, window)).entries).toEqual(before)
  // The hour becomes part of its day when it is 90 days old.
  await api.pool.query(`update environments set clock_offset = '120 days' where id = $1`, [environment])
  await compactAll(environment)
  const { rows } = await api.pool.query('select span, count from ledger_compacted where environment = $1 order by due_at', [environment])
  expect(rows).toEqual([
    { span: 'day', count: 40 },
    { span: 'day', count: 40 },
    { span: 'day', count: 1 },
  ])
})

test('the answer says to where the edges of its window moved', async () => {
  const { secret: key, production: environment } = await api.newProject()
  const now = Math.floor(Date.now() / 1000)
  const hour = down(now - 3 * DAY, HOUR)
  await add(environment, now, [{ kind: 'deliveries', ago: now - hour - 600, outcome: 'failed', count: 2 }])
  const ledger = async (kind: string, from: number, to: number) => {
    const wire = (at: number) => `${iso(at).slice(0, 19)}Z`
    const { body } = await api.call('GET', `/v4/ledger?kind=${kind}&from=${wire(from)}&to=${wire(to)}`, { key })
    return { from: seconds(body.from), to: seconds(body.to), broken: body.data[0].broken }
  }
  expect(await ledger('deliveries', hour + 60, hour + 120)).toEqual({ from: hour + 60, to: hour + 120, broken: 0 })
  await compactAll(environment)
  expect(await ledger('deliveries', hour + 60, hour + 120)).toEqual({ from: hour, to: hour + HOUR, broken: 2 })
  expect(await ledger('deliveries', hour, hour + HOUR)).toEqual({ from: hour, to: hour + HOUR, broken: 2 })
  expect(await ledger('deliveries', hour - HOUR, hour)).toEqual({ from: hour - HOUR, to: hour, broken: 0 })
  // Nothing of the other kind is compacted.
  expect(await ledger('exports', hour + 60, hour + 120)).toMatchObject({ from: hour + 60, to: hour + 120 })
})

test('a read while the counts are compacted is exact, and two compactions at once count nothing twice', async () => {
  const { production: environment } = await api.newProject()
  const now = Math.floor(Date.now() / 1000)
  const hour = down(now - 3 * DAY, HOUR)
  await add(
    environment,
    now,
    Array.from({ length: 60 }, (_, i) => ({ kind: 'deliveries' as const, ago: now - hour - i * 60, outcome: 'failed', count: 1 })),
  )
  const requested = { from: iso(hour + 600), to: iso(hour + 1200), now: iso(now) }
  const reads = Array.from({ length: 30 }, async () => {
    const { window, entries } = await readLedger(api.pool, environment, ['deliveries'], requested)
    expect(entries[0]!.broken).toBe((seconds(window.to) - seconds(window.from)) / 60)
  })
  await Promise.all([...reads, compactAll(environment), compactAll(environment)])
  await compactAll(environment)
  const { window, entries } = await readLedger(api.pool, environment, ['deliveries'], requested)
  expect([seconds(window.from), seconds(window.to), entries[0]!.broken]).toEqual([hour, hour + HOUR, 60])
})
