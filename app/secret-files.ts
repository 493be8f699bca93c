import { readFileSync, statSync } from 'node:fs'
import { getuid } from 'node:process'

/** The variables that hold a secret. Each may name a file instead, as `NAME_FILE`: an environment is visible in more places than a file. */
export const SECRETS: readonly string[] = [
  'APP_SECRET',
  'DATABASE_URL',
  'DATABASE_DIRECT_URL',
  'REDIS_URL',
  'REDIS_PASSWORD',
  'REDIS_SENTINEL_PASSWORD',
  'BOOTSTRAP_SECRET_KEY',
  'BOOTSTRAP_PROJECT_KEY',
  'OPERATOR_PASSWORD',
  'METRICS_TOKEN',
  'S3_ACCESS_KEY_ID',
  'S3_SECRET_ACCESS_KEY',
  'SMTP_URL',
  'OIDC_CLIENT_SECRET',
  'PERENNIAL_KEY',
  'OTEL_EXPORTER_OTLP_HEADERS',
  'OTEL_EXPORTER_OTLP_TRACES_HEADERS',
]

type Variables = Record<string, string | undefined>

/** The variables with the content of the files that they name. `refuse`: throws the line for the operator. */
export function withSecretFiles(env: Variables, refuse: (line: string) => never): Variables {
  const read: Variables = {}
  for (const name of SECRETS) {
    const variable = `${name}_FILE`
    const path = env[variable]
    if (!path) continue
    if (env[name]) refuse(`${name} and ${variable} are both set: set one of them`)
    read[name] = contentOf(path, line => refuse(`${variable}=${path}: ${line}`))
  }
  return { ...env, ...read }
}

function contentOf(path: string, refuse: (line: string) => never): string {
  let text = ''
  try {
    const { uid, mode } = statSync(path)
    // Secrets of containers belong to root and may be readable by all. Nobody else may write them.
    const us = getuid?.()
    if (us !== undefined && ![0, us].includes(uid)) refuse(`belongs to another user (uid ${uid})`)
    if ((mode & 0o002) !== 0) refuse('every user can write it: chmod o-w')
    text = readFileSync(path, 'utf8').trim()
  } catch (error) {
    const { code } = error as { code?: unknown }
    if (typeof code !== 'string') throw error
    refuse(`cannot be read (${code})`)
  }
  return text === '' ? refuse('is empty') : text
}
