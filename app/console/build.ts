import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { removeAbandoned, temporaryName } from '../../store/embedded/temporary.ts'
import { tryLock } from './lock.ts'
import { stampOf } from './stamp.ts'

const FOLDER = 'web/console'
const WAIT_MS = 250
/** Longer than any build: then something else is wrong. */
const MOST_MS = 300_000

export const builtFolder = (root: string): string => join(root, FOLDER, 'dist')

/** Of which sources the pages were built; null: there are none. */
export async function builtStamp(root: string): Promise<string | null> {
  const text = await readFile(join(builtFolder(root), 'stamp'), 'utf8').catch(() => null)
  return text?.trim() ?? null
}

/** Bundles the pages into the folder. */
export type Bundle = (outDir: string) => Promise<void>

/**
 * Builds the pages into a folder of its own and puts that in the place of the earlier one, so that a build that is killed leaves no half of a page. One
 * process builds at a time; others wait for it. `isForced`: also if the pages are those of the sources. Returns whether this call has built them.
 */
export async function buildOnce(root: string, bundle: Bundle, { isForced = false } = {}): Promise<boolean> {
  const folder = join(root, FOLDER)
  const unlock = await lockOf(join(folder, 'dist.lock'))
  try {
    const stamp = await stampOf(root)
    if (!isForced && (await builtStamp(root)) === stamp) return false
    for (const prefix of [NEW, OLD, 'dist.lock.draft-']) await removeAbandoned(folder, prefix)
    const draft = join(folder, temporaryName(NEW))
    try {
      await bundle(draft)
      await writeFile(join(draft, 'stamp'), `${stamp}\n`)
      await replace(folder, draft)
    } finally {
      await rm(draft, { recursive: true, force: true })
    }
    return true
  } finally {
    await unlock()
  }
}

const [NEW, OLD] = ['dist.new-', 'dist.old-']

async function lockOf(path: string): Promise<() => Promise<void>> {
  for (let waited = 0; waited < MOST_MS; waited += WAIT_MS) {
    const unlock = await tryLock(path)
    if (unlock) return unlock
    await pause(WAIT_MS)
  }
  throw new Error(`another process has built the console for more than ${MOST_MS / 60_000} minutes: ${path} says which`)
}

/** A folder that is not empty cannot be replaced by one rename. Whoever is killed between the two leaves none, and the next start builds. */
async function replace(folder: string, draft: string): Promise<void> {
  const built = join(folder, 'dist')
  const aside = join(folder, temporaryName(OLD))
  await rename(built, aside).catch(error => {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  })
  await rename(draft, built)
  await rm(aside, { recursive: true, force: true })
}
