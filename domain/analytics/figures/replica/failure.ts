import pg from 'pg'

const BROKEN_CONNECTION = /^(?:Connection terminated|timeout exceeded when trying to connect|Client has encountered)|ECONNRE/

/**
 * Why a replica did not answer, so that Postgres does: `building`, it is being made or brought up to date; `overflow`, a sum beyond 128 bits;
 * `memory`, beyond ANALYTICS_MEMORY; `times`, the question needs times that only the log has; `broken`, anything else.
 */
export type FallbackReason = 'building' | 'overflow' | 'memory' | 'times' | 'broken'

export class Fallback extends Error {
  readonly reason: FallbackReason

  constructor(reason: FallbackReason, message: string) {
    super(message)
    this.reason = reason
  }
}

/** The file cannot be brought up to date and must be made anew: another generation, tombstones that are gone, or facts of another past. */
export class OutOfDate extends Error {}

/** Classifies an error of DuckDB, of a file, or of Postgres on the way to them. */
export function fallbackOf(error: unknown): Fallback {
  if (error instanceof Fallback) return error
  const message = error instanceof Error ? error.message : String(error)
  if (error instanceof OutOfDate || error instanceof pg.DatabaseError || BROKEN_CONNECTION.test(message))
    return new Fallback('building', message)
  if (/^Out of Range Error/.test(message)) return new Fallback('overflow', message)
  if (/^Out of Memory Error/.test(message)) return new Fallback('memory', message)
  return new Fallback('broken', message)
}

/** After such an error DuckDB answers nothing any more until it is opened anew. */
export const isFatal = (message: string): boolean => /FATAL|INTERNAL|invalidated/.test(message)

/** Another process has opened the file, or this process has. */
export const isTaken = (error: unknown): boolean =>
  error instanceof Error &&
  /Could not set lock|Conflicting lock|already attached|already being (?:attached|used)|Unique file handle conflict/i.test(error.message)
