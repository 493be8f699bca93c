import { readdir, readFile, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { importCsv } from '../../cli/import/command.ts'
import { consumeBatch } from '../../domain/durable/log/consume.ts'
import { CONSUMERS } from '../../domain/oversight/reconciliation/log-handlers.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { receiver } from '../harness/receiver.ts'
import { until } from '../harness/until.ts'
import { call, start, temporaryFolder } from './call.ts'
import { gate } from './gate.ts'

let api: TestApi
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.stop())

const EXAMPLE = ['examples/cdnow.csv', '--map', 'examples/cdnow.json']
const MAP = ['--map', 'event_id=e-{id}', '--map', 'event_name={name}', '--map', 'happened_at={at}', '--map', 'properties.id={id}']
const NUMBERS = 'id,name,at\n'

/** A project of its own and a data folder; `run` imports into it. */
async function place() {
  const { secret, production } = await api.newProject()
  const dataDir = await temporaryFolder()
  const args = ['--key', secret, '--url', api.url]
  const events = async () => {
    const { rows } = await api.pool.query(
      'select event_id from events where environment = $1 order by received_at, partition, log_offset',
      [production],
    )
    return rows.map(row => row.event_id as string)
  }
  const file = async (text: string | Uint8Array) => {
    const path = join(dataDir, 'file.csv')
    await writeFile(path, text)
    return path
  }
  const run = (...more: string[]) => call(importCsv, [...more, ...args], { DATA_DIR: dataDir })
  return { secret, production, dataDir, events, file, run }
}
const numbered = (from: number, to: number, name: (n: number) => string = () => 'opened') =>
  Array.from({ length: to - from + 1 }, (_, i) => `${from + i},${name(from + i)},2026-01-01T00:00:00Z\n`).join('')

test('customers begin with their first row, or when a column says; the map names a field of the customer', async () => {
  const { run, file, production } = await place()
  const path = await file(
    'id,who,at,since\n1,ada,2025-05-02T00:00:00Z,\n2,ada,2025-04-01T00:00:00Z,\n3,bob,2025-06-01T00:00:00Z,2024-01-01T00:00:00Z\n',
  )
  const fields = ['event_id=e-{id}', 'event_name=opened', 'happened_at={at}', 'identity_id={who}', 'created_at={since}']
  const { code, out } = await run(path, ...fields.flatMap(field => ['--map', field]), '--batch', '1')
  expect([code, out]).toEqual([0, expect.stringContaining('3 rows: 3 stored')])
  const { rows } = await api.pool.query(
    'select identity_id as who, created_at, last_seen_at from users where environment = $1 order by 1',
    [production],
  )
  expect(rows).toEqual([
    { who: 'ada', created_at: '2025-04-01T00:00:00Z', last_seen_at: '2025-05-02T00:00:00Z' },
    { who: 'bob', created_at: '2024-01-01T00:00:00Z', last_seen_at: '2025-06-01T00:00:00Z' },
  ])
})

test('the example is stored whole, with its users, amounts and quantities', async () => {
  const { run, events, production } = await place()
  const { code, out } = await run(...EXAMPLE)
  expect(out).toMatch(/cdnow\.csv: 1,000 rows: 1,000 stored, 0 there already, 0 rejected\.$/)
  expect(code).toBe(0)
  expect(new Set(await events()).size).toBe(1000)
  const { rows } = await api.pool.query(
    `select e.event_id, e.name, u.identity_id, e.happened_at, e.price, e.currency, e.properties from events e
     join users u on u.environment = e.environment and u.id = e.user_id where e.environment = $1 and e.event_id in ('cdnow-1', 'cdnow-3') order by 1`,
    [production],
  )
  const common = { name: 'in_app_purchase', currency: 'USD' }
  expect(rows).toEqual([
    {
      ...common,
      event_id: 'cdnow-1',
      identity_id: '00001',
      happened_at: '1997-01-01T12:00:00Z',
      price: '11.77',
      properties: { quantity: 1 },
    },
    {
      ...common,
      event_id: 'cdnow-3',
      identity_id: '00002',
      happened_at: '1997-01-12T12:00:00Z',
      price: '77.00',
      properties: { quantity: 5 },
    },
  ])
})

test('a finished import says so and posts nothing, unless asked to; a changed file is another one', async () => {
  const { file, events, secret, dataDir } = await place()
  const path = await file(NUMBERS + numbered(1, 3))
  const way = await gate(api.url, Number.POSITIVE_INFINITY)
  const run = (...more: string[]) => call(importCsv, [path, ...MAP, '--key', secret, '--url', way.url, ...more], { DATA_DIR: dataDir })
  await run()
  expect(await run()).toEqual({
    code: 0,
    out: `${path} was imported already: 3 rows: 3 stored, 0 there already, 0 rejected. --again posts it again.`,
    notes: '',
  })
  expect(way.passed()).toBe(1)
  expect((await run('--again')).out).toContain('3 rows: 0 stored, 3 there already, 0 rejected.')
  await utimes(path, 1, 1)
  expect((await run()).out).toContain('0 stored, 3 there already')
  expect(await events()).toHaveLength(3)
})

test('the key comes from the environment or from a file, so that no argument shows it', async () => {
  const { secret, dataDir, file, events } = await place()
  const path = await file(NUMBERS + numbered(1, 2))
  const keyFile = join(dataDir, 'key')
  await writeFile(keyFile, `${secret}\n`, { mode: 0o600 })
  const run = (env: Record<string, string>, ...more: string[]) =>
    call(importCsv, [path, ...MAP, '--url', api.url, ...more], { DATA_DIR: dataDir, ...env })
  expect((await run({ PERENNIAL_KEY: secret })).out).toContain('2 stored')
  expect((await run({ PERENNIAL_KEY_FILE: keyFile }, '--again')).out).toContain('2 there already')
  expect(await events()).toHaveLength(2)
  expect(await run({ PERENNIAL_KEY_FILE: '/nonexistent/key' })).toMatchObject({ code: 1, notes: expect.stringContaining('cannot be read') })
})

test('another project, map or address is another import; nothing tells the key', async () => {
  const [first, second] = [await place(), await place()]
  const path = await first.file(NUMBERS + numbered(1, 2))
  for (const key of [first.secret, second.secret, `test_${first.secret}`]) {
    const { out } = await call(importCsv, [path, ...MAP, '--key', key, '--url', api.url], { DATA_DIR: first.dataDir })
    expect(out).toContain('2 stored')
  }
  const folder = join(first.dataDir, 'imports')
  const names = await readdir(folder)
  expect(names).toHaveLength(3)
  for (const name of names) expect(name + (await readFile(join(folder, name), 'utf8'))).not.toContain(first.secret.slice(3, 20))
})

test.each(['SIGKILL', 'SIGINT'] as const)('an import ended by %s continues where it stopped', async signal => {
  const { events, dataDir, secret } = await place()
  // The fifth batch is stored, but its answer never arrives: the hardest moment.
  const gated = await gate(api.url, 4)
  const args = [...EXAMPLE, '--batch', '100', '--key', secret, '--url', gated.url]
  const importing = start(['import', ...args], { DATA_DIR: dataDir })
  await until('the batch behind the gate', () => gated.held() > 0 || undefined)
  await until('five stored batches', async () => (await events()).length === 500 || undefined)
  importing.child.kill(signal)
  const ended = await importing.ended
  if (signal === 'SIGINT') {
    expect(ended.code).toBe(130)
    expect(ended.notes).toContain('perennial: stopped: 400 rows are done; the same command continues from there\n')
  }
  gated.open()
  const { code, out, notes } = await call(importCsv, args, { DATA_DIR: dataDir })
  expect(notes).toContain('continuing after row 400')
  expect(out).toContain('1,000 rows: 900 stored, 100 there already, 0 rejected.')
  expect(code).toBe(0)
  expect((await events()).toSorted()).toEqual(Array.from({ length: 1000 }, (_, i) => `cdnow-${i + 1}`).toSorted())
})

test('with several requests at once nothing is lost and the state has no gap', async () => {
  const { run, events, dataDir, file } = await place()
  const path = await file(NUMBERS + numbered(1, 500, n => (n % 100 === 7 ? '!' : 'opened')))
  const { code, out } = await run(path, ...MAP, '--parallel', '4', '--batch', '20')
  expect([code, out]).toEqual([2, `${path}: 500 rows: 495 stored, 0 there already, 5 rejected.`])
  expect(await events()).toHaveLength(495)
  const [name = ''] = (await readdir(join(dataDir, 'imports'))).filter(name => name.endsWith('.csv'))
  const lines = (await readFile(join(dataDir, 'imports', name), 'utf8')).trim().split('\n')
  expect(lines.map(line => line.split(',')[0])).toEqual(['row', '7', '107', '207', '307', '407'])
})

test('one request at a time keeps the order of the file', async () => {
  const { run, events, file } = await place()
  const path = await file(NUMBERS + numbered(1, 60))
  await run(path, ...MAP, '--map', 'identity_id=one', '--batch', '7')
  expect(await events()).toEqual(Array.from({ length: 60 }, (_, i) => `e-${i + 1}`))
})

test('rejected rows are reported with row, field and reason; the good ones are stored', async () => {
  const { run, file, events, dataDir } = await place()
  const rejects = join(dataDir, 'rejects.csv')
  const path = await file(
    `${NUMBERS}1,opened,2026-01-01T00:00:00Z\n2,Opened,yesterday\n3,"a ""b"", c",2026-01-01T00:00:00Z\n4,opened\n5,,2026-01-01T00:00:00Z\n`,
  )
  const { code, out, notes } = await run(path, ...MAP, '--rejects', rejects)
  expect(code).toBe(2)
  expect(out).toBe(`${path}: 5 rows: 1 stored, 0 there already, 4 rejected.`)
  expect(await events()).toEqual(['e-1'])
  const shown = notes.split('\n')
  expect(shown[0]).toMatch(/^row 2: event_name must be made of .*; happened_at must be a date-time/)
  expect(shown.slice(2)).toEqual(['row 4: has 2 values, the header has 3', 'row 5: event_name is required', `rejected rows: ${rejects}`])
  const lines = (await readFile(rejects, 'utf8')).split('\n')
  expect(lines[0]).toBe('row,field,reason,id,name,at')
  expect(lines[2]).toMatch(/^3,event_name,"must be made of .* such as level_completed",3,"a ""b"", c",2026-01-01T00:00:00Z$/)
  expect(lines[4]).toBe('5,event_name,is required,5,,2026-01-01T00:00:00Z')
  expect((await run(path, ...MAP, '--rejects', rejects)).code).toBe(2)
})

test('a batch without a good row has the reason of each, though the answer is cut at 100', async () => {
  const { run, file, dataDir } = await place()
  const rejects = join(dataDir, 'rejects.csv')
  const path = await file(NUMBERS + numbered(1, 450, n => `!${n}`))
  const { code, notes } = await run(path, ...MAP, '--rejects', rejects)
  expect(code).toBe(2)
  expect(notes.split('\n').filter(line => line.startsWith('row '))).toHaveLength(20)
  const rows = (await readFile(rejects, 'utf8')).trim().split('\n').slice(1)
  expect(rows.map(line => line.split(',').slice(0, 2).join())).toEqual(Array.from({ length: 450 }, (_, i) => `${i + 1},event_name`))
})

test('a repeated batch does not stand twice among the rejects', async () => {
  const { file, secret, dataDir, events } = await place()
  const path = await file(NUMBERS + numbered(1, 40, n => (n % 10 === 0 ? '!' : 'opened')))
  const gated = await gate(api.url, 2)
  const args = [path, ...MAP, '--batch', '10', '--key', secret, '--url', gated.url, '--rejects', join(dataDir, 'r.csv')]
  const stopping = new AbortController()
  const first = call(importCsv, args, { DATA_DIR: dataDir }, stopping.signal)
  await until('the batch behind the gate', () => gated.held() > 0 || undefined)
  stopping.abort()
  expect((await first).code).toBe(1)
  // As if the rejects of the third batch had been written, but not yet the state.
  await writeFile(join(dataDir, 'r.csv'), '30,left over\n', { flag: 'a' })
  gated.open()
  expect((await call(importCsv, args, { DATA_DIR: dataDir })).code).toBe(2)
  const lines = (await readFile(join(dataDir, 'r.csv'), 'utf8')).trim().split('\n')
  expect(lines.map(line => line.split(',')[0])).toEqual(['row', '10', '20', '30', '40'])
  expect(await events()).toHaveLength(36)
})

test('a key that the service does not know is reported, and nothing is done', async () => {
  const { file, dataDir } = await place()
  const path = await file(NUMBERS + numbered(1, 2))
  const result = await call(importCsv, [path, ...MAP, '--key', `sk_${'x'.repeat(40)}`, '--url', api.url], { DATA_DIR: dataDir })
  expect(result).toMatchObject({ code: 1, out: '', notes: expect.stringMatching(/does not know this key \(401\).*; 0 rows are done/) })
})

/** A project with an automation and an integration that take `opened` and purchases; its log is read in the test. */
async function listening() {
  const { secret, production, dataDir, file } = await place()
  const post = async (path: string, body: object, method = 'POST') => {
    const answer = await api.call(method, path, { key: secret, body })
    expect(answer.status, answer.text).toBeLessThan(300)
    return answer.body
  }
  const steps = [{ id: 'long', type: 'delay', duration: 'P30D' }]
  const initiators = [
    { uid: 'opened', type: 'event' },
    { uid: 'in_app_purchase', type: 'event' },
  ]
  await post('/v4/automations', { name: 'Welcome', status: 'active', data: { initiators, steps } })
  const { id } = await post('/v4/integrations', { title: 'Hook', integration: 'webhooks', target_platform: 'iOS' })
  const { url } = await receiver()
  await post(`/v4/integrations/${id}/config`, { settings: { url }, events: ['opened', 'in_app_purchase'] }, 'PUT')
  await post(`/v4/integrations/${id}/status`, { status: 1 })
  const run = (args: string[], stdin?: Readable) =>
    call(importCsv, [...args, '--key', secret, '--url', api.url], { DATA_DIR: dataDir }, undefined, stdin)
  /** What the imported events have set going. */
  const effects = async () => {
    for (const one of CONSUMERS)
      while ((await consumeBatch(api.pool, one, production, { partitions: 64, perPartition: 256 })).partitions > 0);
    const counted = `select (select count(*)::int from events where environment = $1) as events,
      (select count(*)::int from automation_runs where environment = $1) as runs, (select count(*)::int from deliveries where environment = $1) as deliveries`
    return (await api.pool.query(counted, [production])).rows[0]
  }
  return { run, effects, file }
}
/** Rows of now and rows of five days ago. */
const mixed = (young: number, old: number) =>
  NUMBERS +
  Array.from(
    { length: young + old },
    (_, i) => `${i},opened,${new Date(Date.now() - (i < young ? 0 : 5 * 86_400_000)).toISOString()}\n`,
  ).join('')
const typing = (text: string) => Object.assign(Readable.from([text]), { isTTY: true })

test('the import as the page prints it sends nothing, beside an active automation and integration', async () => {
  const { run, effects } = await listening()
  expect((await run(EXAMPLE)).code).toBe(0)
  expect(await effects()).toEqual({ events: 1000, runs: 0, deliveries: 0 })
})

test('an import is history, also of events that are young', async () => {
  const { run, effects, file } = await listening()
  expect((await run([await file(mixed(2, 1)), ...MAP])).notes).toBe('')
  expect(await effects()).toEqual({ events: 3, runs: 0, deliveries: 0 })
})

test('--trigger says beforehand who gets the young events, and only these act', async () => {
  const { run, effects, file } = await listening()
  const { notes, code } = await run([await file(mixed(2, 3)), ...MAP, '--trigger'])
  expect(notes).toContain('2 events are younger than 72 hours')
  expect(notes).toContain('automation "Welcome": gets up to 2\n')
  expect(notes).toContain('integration "Hook": gets up to 2')
  expect(code).toBe(0)
  expect(await effects()).toEqual({ events: 5, runs: 2, deliveries: 2 })
})

test('--trigger asks on a terminal, and without a yes nothing is imported', async () => {
  const { run, effects, file } = await listening()
  const args = [await file(mixed(1, 1)), ...MAP, '--trigger']
  for (const answer of ['no\n', ''])
    expect(await run(args, typing(answer))).toMatchObject({ code: 1, notes: expect.stringMatching(/nothing was imported$/) })
  expect(await effects()).toEqual({ events: 0, runs: 0, deliveries: 0 })
  expect((await run(args, typing('yes\n'))).code).toBe(0)
  // The event has no user, so its run is skipped.
  expect(await effects()).toEqual({ events: 2, runs: 1, deliveries: 1 })
})

test('a file with other delimiters, a byte order mark and bytes that are no UTF-8', async () => {
  const { run, file, events } = await place()
  const rows = ['\uFEFFid;name;at', '1;opened;2026-01-01T00:00:00Z', '2;opened;2026-01-01T00:00:00Z']
  const path = await file(
    Buffer.concat([Buffer.from(`${rows.join('\r\n')}\r\n3`), Buffer.from([0xe4]), Buffer.from(';opened;2026-01-01T00:00:00Z')]),
  )
  const { code, notes } = await run(path, ...MAP, '--delimiter', ';')
  expect(code).toBe(2)
  expect(notes).toContain('row 3: event_id is not UTF-8')
  // The rows are of two users: their partitions decide the order.
  expect((await events()).sort()).toEqual(['e-1', 'e-2'])
})
