import { createReadStream } from 'node:fs'
import { mkdir, readdir, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { syncFolder } from '../embedded/folder.ts'
import { errno } from '../embedded/refusal.ts'
import { writeNew } from './file.ts'
import { type DumpedFile, DumpRefused, SAFE_NAME } from './manifest.ts'

async function* contentOf(path: string, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  for await (const chunk of createReadStream(path, { highWaterMark: 256 * 1024 })) {
    signal.throwIfAborted()
    yield chunk
  }
}

// The folder may contain files of others (lost+found, .DS_Store).
const namesIn = async (folder: string): Promise<string[]> =>
  (await ifPresent(readdir(folder), [])).filter(name => SAFE_NAME.test(name)).sort()

const ifPresent = <T>(content: Promise<T>, otherwise: T): Promise<T> =>
  content.catch(error => {
    if (errno(error) === 'ENOENT') return otherwise
    throw error
  })

/**
 * Copies the export files into the backup. Called after the tables are written: a part in the snapshot was complete at that time and
 * never changes. Parts made after the snapshot are garbage, which the export deletes; files that a retention deletes meanwhile have expired.
 */
export async function dumpExports(exports: string, dir: string, signal: AbortSignal): Promise<DumpedFile[]> {
  const files: DumpedFile[] = []
  for (const file of await namesIn(exports)) {
    for (const part of await namesIn(join(exports, file))) {
      await mkdir(join(dir, file), { recursive: true, mode: 0o700 })
      const to = join(dir, file, part)
      const facts = await ifPresent(writeNew(to, contentOf(join(exports, file, part), signal)), undefined)
      if (facts === undefined) await rm(to, { force: true })
      else files.push({ path: `${file}/${part}`, ...facts })
    }
  }
  for (const folder of new Set(files.map(({ path }) => dirname(path)))) await syncFolder(join(dir, folder))
  if (files.length > 0) await syncFolder(dir)
  return files
}

/** Copies the files back and replaces those of an earlier attempt. Returns the function that undoes the copy. */
export async function loadExports(dir: string, exports: string, files: DumpedFile[], signal: AbortSignal): Promise<() => Promise<void>> {
  await mkdir(exports, { recursive: true, mode: 0o700 })
  const made = [...new Set(files.map(({ path }) => join(exports, dirname(path))))]
  const undo = async () => {
    for (const folder of made) await rm(folder, { recursive: true, force: true })
  }
  try {
    await undo()
    for (const folder of made) await mkdir(folder, { mode: 0o700 })
    for (const { path, sha256 } of files) {
      const written = await writeNew(join(exports, path), contentOf(join(dir, path), signal))
      if (written.sha256 !== sha256) throw new DumpRefused(`${dir} is damaged: ${path} is not as it was written`)
    }
    for (const folder of [...made, exports]) await syncFolder(folder)
    return undo
  } catch (error) {
    await undo()
    throw error
  }
}
