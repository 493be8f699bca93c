import { link, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { pid } from 'node:process'
import { setTimeout as pause } from 'node:timers/promises'
import { bornAt } from '../../store/embedded/process.ts'
import { temporaryName } from '../../store/embedded/temporary.ts'

/** Who finds the lock of a dead process at the same moment has put its own there by then. */
const OTHERS_MS = 100

const isAlive = (holder: string): boolean => {
  const [number, born] = holder.split(' ')
  return born !== undefined && bornAt(Number(number)) === born
}

const contentOf = (path: string) => readFile(path, 'utf8').catch(() => null)

/**
 * Takes the lock that the file stands for, and returns what gives it back; null: a living process has it. A lock of a process that died is taken over:
 * of several that do so the last one has it. The file has its content from the beginning, as a link to a draft.
 */
export async function tryLock(path: string): Promise<(() => Promise<void>) | null> {
  const name = temporaryName(`${basename(path)}.draft-`)
  const [draft, own] = [join(dirname(path), name), `${pid} ${bornAt(pid)} ${name}`]
  const unlock = async () => {
    if ((await contentOf(path)) === own) await rm(path, { force: true })
  }
  await writeFile(draft, own)
  try {
    if (await linked(draft, path)) return unlock
    const holder = await contentOf(path)
    if (holder === null || isAlive(holder)) return null
    await rename(draft, path)
    await pause(OTHERS_MS)
    return (await contentOf(path)) === own ? unlock : null
  } finally {
    await rm(draft, { force: true })
  }
}

const linked = (draft: string, path: string): Promise<boolean> =>
  link(draft, path).then(
    () => true,
    error => {
      if (error.code === 'EEXIST') return false
      throw error
    },
  )
