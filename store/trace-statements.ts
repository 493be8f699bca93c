import type pg from 'pg'
import { isRecording, type OpenSpan, span } from './tracing.ts'

type Statement = string | { name?: string; text?: string; submit?: unknown }
type Query = (statement: Statement, ...rest: unknown[]) => Promise<pg.QueryResult>

const TABLE = /\b(?:from|into|update|join)\s+(?:only\s+)?([a-z_]+)/i

/** A prepared statement has a name; of another one, its verb and the first table. Never its text: it may contain a number of a customer's row. */
export function statementName(statement: Statement): string {
  if (typeof statement !== 'string' && statement.name) return statement.name
  const text = (typeof statement === 'string' ? statement : (statement.text ?? '')).trimStart()
  const verb = text.match(/^[a-z]+/i)?.[0].toLowerCase() ?? 'statement'
  const table = text.match(TABLE)?.[1]
  return table === undefined ? verb : `${verb} ${table}`
}

const ATTRIBUTES = { 'db.system.name': 'postgresql' }

const codeOf = (error: unknown): string => String((error as { code?: unknown }).code ?? 'failed')

function traced(client: pg.PoolClient): void {
  const original = client.query.bind(client) as unknown as Query
  const query: Query = (statement, ...rest) => {
    // A cursor, COPY, or a caller that waits for no promise.
    const isOther = (typeof statement === 'object' && typeof statement.submit === 'function') || typeof rest.at(-1) === 'function'
    if (isOther || !isRecording()) return original(statement, ...rest)
    const send = async (one: OpenSpan) => {
      try {
        return await original(statement, ...rest)
      } catch (error) {
        one.failed(codeOf(error))
        throw error
      }
    }
    return span(statementName(statement), ATTRIBUTES, send, 'client')
  }
  client.query = query as never
}

/** Each statement of the pool's connections is a span of the trace under way. */
export function traceStatements(pool: pg.Pool): void {
  pool.on('connect', traced)
  // The pool's own form calls back in the context of whoever has released the connection.
  const query: Query = async (statement, ...rest) => {
    const client = await pool.connect()
    let broken: Error | undefined
    try {
      return await (client.query as unknown as Query)(statement, ...rest)
    } catch (error) {
      broken = error as Error
      throw error
    } finally {
      client.release(broken)
    }
  }
  pool.query = query as never
}
