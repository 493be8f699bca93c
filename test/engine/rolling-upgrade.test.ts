import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { createRun, jobKindOf } from '../../domain/durable/jobs/workflow-run.ts'
import { readDrift } from '../../domain/oversight/reconciliation/drift.ts'
import { transaction } from '../../store/transaction.ts'
import { type EngineFixture, engineFixture, workflow } from '../harness/engine-fixture.ts'
import { until } from '../harness/until.ts'

// Two programs work on one database while an installation is upgraded: the older one does not know every workflow, nor every version.

let fixture: EngineFixture
beforeAll(async () => {
  fixture = await engineFixture()
})
afterEach(() => fixture.clear())
afterAll(() => fixture.drop())

const begin = (name: string, version: number) =>
  transaction(fixture.pool, tx => createRun(tx, fixture.environment, { workflow: name, version, subject: `${name} ${version}` }))
const workersSeen = (count: number) =>
  until(`${count} workers`, async () => ((await fixture.pool.query('select 1 from workers')).rowCount === count ? true : undefined))
const unknownJobs = async () =>
  (await readDrift(fixture.pool)).late.filter(({ unknown }) => unknown > 0).map(({ kind, unknown }) => [kind, unknown])

test('a run of a workflow or version that a worker does not know is left alone, visibly, until a worker that knows it takes it', async () => {
  const executed: string[] = []
  const noting = (name: string, version: number) =>
    workflow(
      name,
      context =>
        context.step('note', async () => {
          executed.push(`${name} ${version}`)
        }),
      { version },
    )
  const older = [noting('known', 1)]
  const newer = [noting('known', 1), noting('known', 2), noting('new', 1)]

  const olderWorker = await fixture.work(older)
  await workersSeen(1)
  const later = await begin('known', 2)
  const fresh = await begin('new', 1)
  expect(await unknownJobs()).toEqual([
    ['known.v2', 1],
    ['new', 1],
  ])
  // The older worker sweeps meanwhile: it executes what it knows, again and again.
  for (let n = 0; n < 5; n++) await fixture.ended(await begin('known', 1))
  const { rows } = await fixture.pool.query('select id, fence, lease_until, batched_until from due order by id')
  expect(rows).toEqual([later, fresh].map(id => ({ id, fence: 0, lease_until: null, batched_until: null })))
  expect((await fixture.pool.query('select distinct status from runs where id = any ($1)', [[later, fresh]])).rows).toEqual([
    { status: 'pending' },
  ])

  await fixture.work(newer)
  for (const run of [later, fresh]) expect(await fixture.ended(run)).toEqual({ status: 'succeeded', reason: null })
  expect(executed.slice(5).sort()).toEqual(['known 2', 'new 1'])
  expect(await unknownJobs()).toEqual([])

  // Both work on: what only one of them knows goes to that one.
  const more = [await begin('known', 1), await begin('known', 2), await begin('new', 1)]
  for (const run of more) expect(await fixture.ended(run)).toMatchObject({ status: 'succeeded' })
  await olderWorker.stop()
  expect(await fixture.ended(await begin('known', 1))).toMatchObject({ status: 'succeeded' })
})

test('a worker that has stopped knows nothing; without any worker no kind counts as unknown', async () => {
  const one = await fixture.work([workflow('a', async () => {})])
  const other = await fixture.work([workflow('b', async () => {})])
  await workersSeen(2)
  await other.stop()
  await begin('b', 1)
  expect(await unknownJobs()).toEqual([['b', 1]])
  await one.stop()
  expect(await unknownJobs()).toEqual([])
})

test('the kind of a run is the same in the table and in the program', async () => {
  for (const version of [1, 2, 10]) {
    const run = await begin('known', version)
    const { rows } = await fixture.pool.query(
      'select d.kind from due d join runs r on r.id = d.id and r.job_kind = d.kind where r.id = $1',
      [run],
    )
    expect(rows).toEqual([{ kind: jobKindOf({ workflow: 'known', version }) }])
  }
})
