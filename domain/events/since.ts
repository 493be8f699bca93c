import type { Db } from '../../store/connect.ts'
import type { Environment } from '../kernel/environment.ts'

/** The end of the log of environments: the next offset of each partition. */
export type EndsOfLogs = ReadonlyMap<Environment, readonly number[]>

export async function logEnds(db: Db, environments: readonly Environment[]): Promise<EndsOfLogs> {
  const { rows } = await db.query<{ environment: Environment; ends: number[] }>({
    name: 'log-ends',
    text: `select environment, array_agg(next_offset order by partition) as ends from log_positions where environment = any ($1) group by 1`,
    values: [environments],
  })
  return new Map(rows.map(({ environment, ends }) => [environment, ends]))
}

/** The ids of at most `most` events between two ends of the log of an environment, the latest ones of each partition that has grown. */
export async function eventsBetween(
  db: Db,
  environment: Environment,
  [before, after]: [readonly number[], readonly number[]],
  most: number,
): Promise<string[]> {
  const grown = after.flatMap((end, partition) => (end > (before[partition] ?? 0) ? [partition] : [])).slice(0, most)
  const { rows } = await db.query<{ id: string }>({
    name: 'events-between',
    text: `select e.id from unnest($2::int[], $3::bigint[], $4::bigint[]) p(partition, first, last) cross join lateral (
             select id from events where environment = $1 and partition = p.partition and log_offset >= p.first and log_offset < p.last
             order by log_offset desc limit $5) e limit $5`,
    values: [environment, grown, grown.map(partition => before[partition] ?? 0), grown.map(partition => after[partition]!), most],
  })
  return rows.map(({ id }) => id)
}
