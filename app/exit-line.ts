import { Refusal } from '../domain/kernel/refusal.ts'
import { DumpRefused } from '../store/dump/manifest.ts'
import { DataDirRefused } from '../store/embedded/start.ts'
import { SchemaRefused } from '../store/schema-history.ts'
import { SessionRefused } from '../store/session.ts'
import { ConfigError } from './config.ts'

const EXPECTED = [ConfigError, Refusal, DumpRefused, DataDirRefused, SchemaRefused, SessionRefused]
const NO_DATABASE = /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|ECONNRESET|28P01|28000|3D000|42501|57P03|53300|08P01)$/
const NOT_TRUSTED = /^(SELF_SIGNED_CERT_IN_CHAIN|DEPTH_ZERO_SELF_SIGNED_CERT|UNABLE_TO_\w+|CERT_\w+|ERR_TLS_CERT_ALTNAME_INVALID)$/
const NO_FILE = /^(EACCES|EPERM|EROFS|ENOSPC|EDQUOT|ENOTDIR|EISDIR|ENOENT|EEXIST|EIO)$/

/** One line for the operator; undefined for a fault of the program, which is printed with its stack. */
export function operatorLine(error: unknown): string | undefined {
  if (EXPECTED.some(kind => error instanceof kind)) return (error as Error).message
  const { code, message, port } = (error ?? {}) as { code?: unknown; message?: string; port?: number }
  if (typeof code !== 'string') return undefined
  if (code === 'EADDRINUSE') return `port ${port} is taken: set PORT or METRICS_PORT to another one (0 picks a free one)`
  if (code === 'EADDRNOTAVAIL') return 'this machine has no such address: set HOST to one that it has, or to 0.0.0.0'
  if (NO_DATABASE.test(code)) return `the database refuses the connection: ${message || code}`
  // Nothing but the database is called before the service is ready.
  if (NOT_TRUSTED.test(code)) return `the certificate of the database is not trusted (sslmode and sslrootcert of its address): ${message}`
  return NO_FILE.test(code) ? message : undefined
}
