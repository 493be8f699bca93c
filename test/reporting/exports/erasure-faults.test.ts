import { afterEach, beforeEach, expect, test } from 'vitest'
import { eraseFromExports } from '../../../domain/reporting/exports/erasure.ts'
import type { TestApi } from '../../harness/api.ts'
import { type Erasing, PEOPLE, startErasing, usersIn } from '../../harness/erasing.ts'
import { eraseUser, erasuresEnded } from '../../harness/erasure.ts'
import { exportAll, finished, storedFiles, WHOLE_YEAR } from '../../harness/exports.ts'
import { until } from '../../harness/until.ts'

let erasing: Erasing
let api: TestApi
let environment: number
let ids: Record<string, string>
beforeEach(async () => {
  erasing = await startErasing()
  ;({ api, environment, ids } = erasing)
})
afterEach(() => erasing.stop())

const germany = async (): Promise<string> =>
  (await api.call('POST', '/v4/segments', { body: { name: 'DE', conditions: [{ metric: 'country', comparator: 'eq', value: 'DE' }] } }))
    .body.id

test.each([
  ['events', 4],
  ['purchases', 4],
  ['customers', 1],
])('an export of %s that is written during the erasure ends without the user, also in its edges and members', async (type, partRows) => {
  const body = { ...WHOLE_YEAR, type, segment_id: await germany() }
  const accepted = (await api.call('POST', '/v4/exports', { body })).body
  const waiting = (await api.call('POST', '/v4/exports', { body: { ...body, format: 'ndjson' } })).body
  // Each time the second part is written, another user is erased. Parts of customers have one row, so every customer is an edge.
  const gone: string[] = []
  await erasing.work(
    {
      async writePart(file, name, content, signal) {
        const who = PEOPLE[gone.length]
        if (file === accepted.id && name.startsWith('2.') && who && who !== 'dora') {
          gone.push(who)
          await eraseUser(api.pool, environment, ids[who]!)
        }
        return api.storage.writePart(file, name, content, signal)
      },
    },
    partRows,
  )
  const done = await finished(api.call, accepted.id)
  await finished(api.call, waiting.id)
  // After the times at which the erasures check the file again.
  await api.pool.query(`update environments set clock_offset = interval '1 minute'`)
  await erasuresEnded(api.pool, 30_000)
  expect(gone.length).toBeGreaterThan(0)
  expect(done.status).toBe('done')
  const left = PEOPLE.filter(who => !gone.includes(who))
  const now = (await api.call('GET', `/v4/exports/${accepted.id}`)).body
  expect(await usersIn(now.file_url)).toEqual(left)
  expect(now.manifest.rows).toBe(type === 'customers' ? left.length : left.length * 10)
  for (const who of gone) expect(await erasing.tracesLeft(ids[who]!)).toEqual([])
})

test('edges of parts: both parts keep their other users, also when neighbours with the same creation time are erased concurrently', async () => {
  await erasing.work({}, 1)
  const made = await exportAll(api, { ...WHOLE_YEAR, type: 'customers' })
  const sorted = Object.values(ids).sort()
  const edges = async () =>
    (
      await api.pool.query<{ result: string[] | null }>(
        `select s.result from steps s join runs r on r.id = s.run where r.subject = $1 and s.name like 'edge-%' order by s.n`,
        [made.object.id],
      )
    ).rows.map(({ result }) => result?.[1])
  expect(await edges()).toEqual([...sorted, undefined])
  await Promise.all([sorted[1]!, sorted[2]!].map(id => eraseUser(api.pool, environment, id)))
  expect(await edges()).toEqual([sorted[0], sorted[0], sorted[0], sorted[3], undefined])
  await eraseUser(api.pool, environment, sorted[0]!)
  expect(await edges()).toEqual(['', '', '', sorted[3], undefined])
  await erasuresEnded(api.pool)
  for (const id of sorted.slice(0, 3)) expect(await erasing.tracesLeft(id)).toEqual([])
})

test('the acceptance of an export waits for an erasure that would otherwise miss the export', async () => {
  const held = await api.pool.connect()
  await held.query('begin')
  await eraseFromExports(held, environment, ids.anna!, 'pseudonym')
  let accepted = false
  const accepting = api.call('POST', '/v4/exports', { body: WHOLE_YEAR }).then(answer => {
    accepted = true
    return answer
  })
  await until('it waits', async () => {
    const { rowCount } = await api.pool.query(
      `select 1 from pg_stat_activity where wait_event = 'advisory' and datname = current_database()`,
    )
    return rowCount || undefined
  })
  expect(accepted).toBe(false)
  await held.query('delete from events where user_id = $1', [ids.anna])
  await held.query('delete from users where id = $1', [ids.anna])
  await held.query('commit')
  held.release()
  const { body } = await accepting
  await erasing.work()
  expect(await usersIn((await finished(api.call, body.id)).file_url)).toEqual(['ben', 'carl', 'dora'])
})

test.each([
  'csv',
  'parquet',
])('a storage that fails (%s): the rewrite is attempted five times, then again an hour later, until it succeeds', async format => {
  await erasing.work()
  const { object } = await exportAll(api, { ...WHOLE_YEAR, format })
  await erasing.rest()
  let attempts = 0
  const full = async () => {
    attempts++
    throw Object.assign(new Error('full'), { code: 'ENOSPC' })
  }
  await eraseUser(api.pool, environment, ids.anna!)
  await erasing.work({ writePart: full, composePart: full })
  await until('the run has failed', async () => {
    const { rowCount } = await api.pool.query(`select 1 from runs where workflow = 'erase-export' and status = 'failed'`)
    return rowCount || undefined
  })
  expect(attempts).toBe(5)
  await erasing.rest()
  const { rows } = await api.pool.query(
    `select extract(epoch from d.due_at - r.finished_at)::int as later from runs r, due d where r.status = 'failed' and d.kind = 'erase-export'`,
  )
  expect(rows).toEqual([{ later: 3600 }])
  await api.pool.query(`update environments set clock_offset = interval '1 hour'`)
  await erasing.work()
  await erasuresEnded(api.pool)
  expect((await api.call('GET', `/v4/exports/${object.id}`)).body.manifest.rows).toBe(30)
  expect(await erasing.tracesLeft(ids.anna!)).toEqual([])
})

test('the parts of a failed export and a file that is expired but not deleted yet are removed', async () => {
  await erasing.work()
  const expired = await exportAll(api, WHOLE_YEAR)
  await erasing.rest()
  const { body } = await api.call('POST', '/v4/exports', { body: WHOLE_YEAR })
  await erasing.work({
    writePart: (file, name, ...rest) =>
      name.startsWith('3.')
        ? Promise.reject(Object.assign(new Error('full'), { code: 'ENOSPC' }))
        : api.storage.writePart(file, name, ...rest),
  })
  expect((await finished(api.call, body.id)).status).toBe('failed')
  expect(await storedFiles(api.files)).toHaveLength(2)
  await api.pool.query(`update exports set expires_at = clock_timestamp() - interval '1 minute' where id = $1`, [expired.object.id])
  await eraseUser(api.pool, environment, ids.anna!)
  await erasuresEnded(api.pool)
  expect(await storedFiles(api.files)).toEqual([])
})

test('a file that expires and is removed during its rewrite does not come back', async () => {
  await erasing.work()
  const { object } = await exportAll(api, WHOLE_YEAR)
  await erasing.rest()
  await eraseUser(api.pool, environment, ids.anna!)
  let writes = 0
  await erasing.work({
    async writePart(...part) {
      if (++writes === 1) {
        await api.pool.query(`update exports set expires_at = clock_timestamp() - interval '1 second'`)
        await api.storage.remove(object.id)
      }
      return api.storage.writePart(...part)
    },
  })
  await erasuresEnded(api.pool)
  expect(writes).toBeGreaterThan(0)
  expect(await storedFiles(api.files)).toEqual([])
})
