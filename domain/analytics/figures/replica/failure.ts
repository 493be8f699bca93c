import pg from 'pg'

const BROKEN_CONNECTION = /^(?:Connection terminated|timeout exceeded when trying to connect|Client has encountered)|ECONNRE/

/**
 * The reason why Postgres answers in place of a replica. `building`: the replica is being made or brought up to date. `overflow`: a sum
 * needs more than 128 bits. `memory`: the question needs more than ANALYTICS_MEMORY. `times`: only the log has the times that the question
 * needs. `broken`: any other reason.
 */
export type FallbackReason = 'building' | 'overflow' | 'memory' | 'times' | 'broken'

export class Fallback extends Error {
  readonly reason: FallbackReason

  constructor(reason: FallbackReason, message: string) {
    super(message)
    this.reason = reason
  }
}

/**
 * The file cannot be brought up to date and must be made anew: the database has another generation of facts, has deleted tombstones that
 * the file has not seen, or was restored to an earlier state.
 */
export class OutOfDate extends Error {}

/** Classifies an error of DuckDB, of a file, or of Postgres while rows are copied. */
export function fallbackOf(error: unknown): Fallback {
  if (error instanceof Fallback) return error
  const message = error instanceof Error ? error.message : String(error)
  if (error instanceof OutOfDate || error instanceof pg.DatabaseError || BROKEN_CONNECTION.test(message))
    return new Fallback('building', message)
  if (/^Out of Range Error/.test(message)) return new Fallback('overflow', message)
  if (/^Out of Memory Error/.test(message)) return new Fallback('memory', message)
  return new Fallback('broken', message)
}

/** After such an error DuckDB answers no question until it is opened again. */
export const isFatal = (message: string): boolean => /FATAL|INTERNAL|invalidated/.test(message)

/** Another process, or this one, has opened the file already. */
export const isTaken = (error: unknown): boolean =>
  error instanceof Error &&
  /Could not set lock|Conflicting lock|already attached|already being (?:attached|used)|Unique file handle conflict/i.test(error.message)
