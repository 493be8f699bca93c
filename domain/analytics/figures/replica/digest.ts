import type { DuckDBConnection } from '@duckdb/node-api'
import type { Tx } from '../../../../store/connect.ts'
import type { Environment } from '../../../kernel/environment.ts'
import { replicaTables } from './tables.ts'

// The database may have been restored from a backup after the file was written. Its numbers then continue from an earlier state, and the
// same numbers name other facts. Counts and sums of the rows reveal that.

/** Sums over the rows without tombstones. Both databases add up 64-bit numbers in 128 bits or more. */
const SUMS: Record<string, string[]> = {
  user_facts: ['user_no', 'created', 'first_paid'],
  transaction_facts: ['id', 'user_no', 'happened', 'amount'],
  subscription_changes: ['id', 'user_no', 'happened', 'a_amount', 'b_amount'],
}

const sumsOf = (name: string) =>
  ['count(*)', ...SUMS[name]!.map(column => `coalesce(sum(${column}), 0)`)].map(sum => `cast(${sum} as varchar)`)

const statement = (name: string, from: string) => `select concat_ws(' ', ${sumsOf(name).join(', ')}) as digest from ${from}`

const digested = () => replicaTables().filter(({ name }) => name in SUMS)

export async function digestOfFile(connection: DuckDBConnection, schema: string): Promise<string> {
  const parts: string[] = []
  for (const { name } of digested()) {
    const read = await connection.runAndReadAll(statement(name, `${schema}.${name}`))
    parts.push(String(read.getRows()[0]![0]))
  }
  return parts.join('; ')
}

export async function digestOfPostgres(tx: Tx, environment: Environment, generation: number): Promise<string> {
  const parts: string[] = []
  for (const { name, isTombstone } of digested()) {
    const from = `${name} where environment = ${environment} and generation = ${generation} and not (${isTombstone})`
    const { rows } = await tx.query<{ digest: string }>(statement(name, from))
    parts.push(rows[0]!.digest)
  }
  return parts.join('; ')
}
