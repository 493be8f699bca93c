import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { backup } from '../../cli/backup.ts'
import { project } from '../../cli/project.ts'
import { restore } from '../../cli/restore.ts'
import { startEmbedded } from '../../store/embedded/start.ts'
import { call, temporaryFolder } from './call.ts'

const runs = async (dataDir: string) => (await readdir(join(dataDir, 'postgres'))).includes('postmaster.pid')

test('an embedded installation is found running or not, left so, and takes its secret along', async () => {
  const [from, to, dir] = [await temporaryFolder(), await temporaryFolder(), join(await temporaryFolder(), 'b')]
  const embedded = await startEmbedded({ dataDir: from, log: () => {} })
  onTestFinished(() => embedded.stop())
  await call(project, ['create', '--name', 'Shop'], { DATA_DIR: from })
  expect(await call(backup, [dir], { DATA_DIR: from })).toMatchObject({
    code: 0,
    out: expect.stringContaining('Its app_secret opens every secret'),
  })
  expect((await stat(join(dir, 'app_secret'))).mode & 0o777).toBe(0o600)

  const wrong = await call(restore, [dir], { DATA_DIR: to, APP_SECRET: 'another secret altogether, long enough' })
  expect(wrong).toMatchObject({ code: 1, notes: expect.stringContaining('APP_SECRET cannot open the secrets of this backup') })
  expect(await readdir(to)).toEqual([])
  expect((await call(restore, [dir], { DATA_DIR: to })).code).toBe(0)
  expect(await readFile(join(to, 'app_secret'), 'utf8')).toBe(await readFile(join(from, 'app_secret'), 'utf8'))
  expect([await runs(from), await runs(to)]).toEqual([true, false])
  // Refused unless the secret opens the keys.
  expect((await call(project, ['rotate', '1'], { DATA_DIR: to })).code).toBe(0)
})
