// A process that waits for another one to migrate the database ends when a signal asks it to.
import { expect, onTestFinished, test } from 'vitest'
import { takeMigrationLock } from '../../store/migration-lock.ts'
import { start, temporaryFolder } from '../cli/call.ts'
import { APP_SECRET } from '../harness/api.ts'
import { freshDatabase } from '../harness/database.ts'
import { launch } from '../harness/process.ts'
import { until } from '../harness/until.ts'

const WAITS = 'waits for its turn to migrate the database'

async function beingMigrated(): Promise<Record<string, string>> {
  const database = await freshDatabase()
  const other = await database.pool.connect()
  onTestFinished(async () => {
    other.release(true)
    await database.drop()
  })
  await takeMigrationLock(other, 'exclusive')
  return { DATABASE_URL: database.url, APP_SECRET, DATA_DIR: await temporaryFolder(), PORT: '0' }
}

test('the service, with exit code 0', async () => {
  const service = launch({ env: await beingMigrated() })
  await until('it waits', () => service.output().includes(WAITS) || undefined)
  expect(await service.end('SIGTERM')).toBe(0)
})

test('the command migrate, which says why it waits', async () => {
  const { child, ended } = start(['migrate'], await beingMigrated())
  let notes = ''
  child.stderr!.on('data', chunk => (notes += chunk))
  await until('it waits', () => notes.includes(WAITS) || undefined)
  child.kill('SIGINT')
  expect(await ended).toEqual({ code: 130, out: '', notes: `${WAITS}\nperennial: stopped\n` })
})
