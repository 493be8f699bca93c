/** The cases of a failure of the database or of the file storage that callers must tell apart. */
export type StoreFailure = 'unavailable' | 'timeout' | 'conflict' | 'other'

const code = (error: unknown): string => {
  const value = (error as { code?: unknown } | null)?.code
  return typeof value === 'string' ? value : ''
}

const NETWORK = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ENOTFOUND',
  'EPIPE',
  'EHOSTUNREACH',
  'ETIMEDOUT',
  'ENOENT',
  'EAI_AGAIN',
  'CONNECTION_ENDED',
])
const FILES = new Set(['ENOSPC', 'EDQUOT', 'EROFS', 'EACCES', 'EPERM', 'EIO', 'ENOTDIR', 'EMFILE', 'EFBIG'])
const BROKEN_CONNECTION =
  /Connection terminated|Client has encountered a connection error|timeout exceeded when trying to connect|not queryable/

/** SQLSTATE classes: https://www.postgresql.org/docs/current/errcodes-appendix.html */
export function classifyFailure(error: unknown): StoreFailure {
  const c = code(error)
  if (c === '57014' || c === '55P03' || c === '25P03') return 'timeout'
  if (c === '40001' || c === '40P01') return 'conflict'
  if (/^(08|53|57P|58|XX)/.test(c) || c === '25006' || NETWORK.has(c) || FILES.has(c)) return 'unavailable'
  if (error instanceof Error && BROKEN_CONNECTION.test(error.message)) return 'unavailable'
  return 'other'
}

export const isRetryable = (error: unknown): boolean => classifyFailure(error) === 'conflict'

/** Whether a statement gave up its wait for a lock, by the session's `lock_timeout`. */
export const isLockTimeout = (error: unknown): boolean => code(error) === '55P03'

/** Whether a unique key is taken; `constraint` limits the answer to one index. */
export const isUniqueViolation = (error: unknown, constraint?: string): boolean =>
  code(error) === '23505' && (constraint === undefined || (error as { constraint?: string }).constraint === constraint)
