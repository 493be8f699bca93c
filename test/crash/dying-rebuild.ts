import pg from 'pg'
import { rebuildFacts } from '../../domain/analytics/folding/rebuild.ts'
import { connect } from '../../store/connect.ts'
import { dyingAt } from './dying-client.ts'

// A process that rebuilds the facts of an environment, and dies at a statement.
const originalQuery = pg.Client.prototype.query as (...given: unknown[]) => unknown
let client: unknown
const dying = dyingAt((...given) => originalQuery.apply(client, given))
pg.Client.prototype.query = function (this: unknown, ...given: [unknown]) {
  client = this
  return dying(...given)
} as typeof pg.Client.prototype.query
const pool = connect({ url: process.env.DATABASE_URL! })
await rebuildFacts(pool, Number(process.env.ENVIRONMENT), { isStopping: () => false })
await pool.end()
