import { connect } from '../../store/connect.ts'
import { median } from '../report.ts'
import type { Resources } from '../resources.ts'

const PER_BATCH = 100
const IN_FLIGHT = 8
const BATCHES = 400

/** Runs/s that Postgres reaches for the same rows, written by hand: five multi-row statements per 100 runs, each in its own commit. */
export async function multiRowRate(resources: Resources, database: string, rounds: number): Promise<number> {
  const pool = connect({ url: database, max: IN_FLIGHT, name: 'bench-multi-row' })
  resources.undo(() => pool.end())
  await pool.query(
    `create table wf (id bigint primary key, name text, status text, input jsonb, output jsonb, created timestamptz default now(), updated timestamptz);
     create index on wf (status, created); create table wf_step (wf bigint, seq int, name text, output jsonb, primary key (wf, seq))`,
  )
  const json = JSON.stringify({ a: 1 })
  const batch = async (first: number) => {
    const ids = Array.from({ length: PER_BATCH }, (_, i) => first + i)
    await pool.query({
      name: 'insert',
      text: `insert into wf (id, name, status, input) select x, 'three', 'PENDING', $2 from unnest($1::bigint[]) x`,
      values: [ids, json],
    })
    for (let seq = 1; seq <= 3; seq++)
      await pool.query({
        name: 'step',
        text: `insert into wf_step select x, $2::int, 's' || $2::int, $3::jsonb from unnest($1::bigint[]) x`,
        values: [ids, seq, json],
      })
    await pool.query({
      name: 'update',
      text: `update wf set status = 'SUCCESS', output = $2, updated = now() where id = any($1::bigint[])`,
      values: [ids, json],
    })
  }
  const rates: number[] = []
  for (let n = 0; n < rounds; n++) {
    let next = 0
    const began = performance.now()
    await Promise.all(
      Array.from({ length: IN_FLIGHT }, async () => {
        while (next < BATCHES) await batch((n * BATCHES + next++) * PER_BATCH)
      }),
    )
    rates.push((BATCHES * PER_BATCH * 1000) / (performance.now() - began))
  }
  return median(rates)
}
