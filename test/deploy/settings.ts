import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { type Config, readConfig } from '../../app/config.ts'

const SECRETS: Record<string, string> = {
  APP_SECRET: 'a secret for tests only, long enough',
  DATABASE_URL: 'postgres://perennial:password@postgres:5432/perennial?sslmode=disable',
  BOOTSTRAP_SECRET_KEY: `sk_${'k'.repeat(40)}`,
}

/** The configuration by an environment that a deployment writes, with secrets in place of the files that it names. Throws for what the service refuses. */
export function configOf(env: Record<string, string>): Config {
  const folder = mkdtempSync(join(tmpdir(), 'perennial-settings-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const files = Object.keys(env)
    .filter(name => name.endsWith('_FILE'))
    .map(name => {
      const path = join(folder, name)
      const secret = SECRETS[name.slice(0, -'_FILE'.length)]
      if (secret === undefined) throw new Error(`no secret of a test for ${name}`)
      writeFileSync(path, secret)
      chmodSync(path, 0o400)
      return [name, path]
    })
  return readConfig({ ...env, ...Object.fromEntries(files) })
}
