import { DuckDBConnection } from '@duckdb/node-api'
import { withFacts } from '../../domain/analytics/figures/open-source.ts'
import { replicasOf } from '../../domain/analytics/figures/replica/replicas.ts'
import { proceedsRates } from '../../domain/events/money.ts'
import { connect } from '../../store/connect.ts'
import { dyingAt } from './dying-client.ts'

// A process that asks its replica once, and dies at a statement of DuckDB. Rows on their way to the file are written before the statement that
// reads them.
const run = DuckDBConnection.prototype.run as (...given: unknown[]) => unknown
let connection: unknown
const dying = dyingAt((...given) => run.apply(connection, given))
DuckDBConnection.prototype.run = function (this: unknown, ...given: [unknown]) {
  connection = this
  return dying(...given)
} as typeof DuckDBConnection.prototype.run
const { DATABASE_URL: url = '', REPLICAS: folder = '', ENVIRONMENT } = process.env
const pool = connect({ url })
const scanning = connect({ url, scans: true })
const replicas = replicasOf({
  ...{ pool: scanning, folder, memory: '384MB', from: 0, patienceMs: 60_000 },
  onAnswer: by => console.log(by),
  onError: error => console.log(error.message),
})
const access = { pool, scanning, replicas, proceedsRates: proceedsRates({}), drainMs: 60_000 }
await withFacts(access, Number(ENVIRONMENT), source => source.query({ text: 'select 1 as one' }))
await replicas.close()
await Promise.all([pool.end(), scanning.end()])
