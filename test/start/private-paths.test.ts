import { chmod, chown, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { expect, onTestFinished, test } from 'vitest'
import { DataDirRefused } from '../../store/embedded/refusal.ts'
import { requirePrivateFile, requirePrivateFolder } from '../../store/private-paths.ts'

async function folderOf(mode: number): Promise<string> {
  const parent = await mkdtemp(join(tmpdir(), 'perennial-private-'))
  onTestFinished(() => rm(parent, { recursive: true, force: true }))
  const folder = join(parent, 'data')
  await mkdir(folder)
  await chmod(folder, mode)
  return folder
}

async function secretIn(folder: string, mode: number): Promise<string> {
  const path = join(folder, 'app_secret')
  await writeFile(path, 'x'.repeat(43))
  await chmod(path, mode)
  return path
}

/** Refused in one line that names the path. */
async function refusal(work: Promise<void>, path: string): Promise<string> {
  const error = await work.then(
    () => undefined,
    error => error,
  )
  expect(error).toBeInstanceOf(DataDirRefused)
  expect(error.message).toContain(path)
  expect(error.message).not.toContain('\n')
  return error.message
}

test.each([0o700, 0o711, 0o755, 0o750, 0o770])('a data folder of mode %o is private to its user and group', async mode => {
  const folder = await folderOf(mode)
  await expect(requirePrivateFolder(folder)).resolves.toBeUndefined()
})

test.each([0o777, 0o1777, 0o702])('a data folder of mode %o is refused', async mode => {
  const folder = await folderOf(mode)
  expect(await refusal(requirePrivateFolder(folder), folder)).toMatch(/can be written by every user: chmod o-w/)
})

test('a folder that is missing, and a path that is no folder, are left to whoever opens them', async () => {
  await expect(requirePrivateFolder('/nonexistent/data')).resolves.toBeUndefined()
  await expect(requirePrivateFolder('/dev/null')).resolves.toBeUndefined()
})

test('a secret file opens to its user alone', async () => {
  const folder = await folderOf(0o700)
  await expect(requirePrivateFile(await secretIn(folder, 0o600), folder)).resolves.toBeUndefined()
  for (const mode of [0o640, 0o604, 0o620]) {
    const path = await secretIn(folder, mode)
    expect(await refusal(requirePrivateFile(path, folder), path)).toMatch(/chmod 600/)
  }
})

// Only root can give a file away.
const asRoot = process.getuid?.() === 0 ? test : test.skip
asRoot('a secret file that another user has put there is refused', async () => {
  const folder = await folderOf(0o700)
  const path = await secretIn(folder, 0o600)
  await chown(path, 54_321, 54_321)
  expect(await refusal(requirePrivateFile(path, folder), path)).toMatch(/belongs to another user \(uid 54321\)/)
  // The user whose folder it is was an earlier service.
  await chown(folder, 54_321, 54_321)
  await expect(requirePrivateFile(path, folder)).resolves.toBeUndefined()
})
