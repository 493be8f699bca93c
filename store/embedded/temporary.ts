import { randomBytes } from 'node:crypto'
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { pid } from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'
import { bornAt } from './process.ts'

/** A name that identifies its process, so that the file can be removed when the process died: prefix, process number, start of the process, random. */
export const temporaryName = (prefix: string): string => `${prefix}${pid}-${bornAt(pid)}-${randomBytes(4).toString('hex')}`

/** Removes from a folder what dead processes left under such names. What cannot be removed now is left to the next call. */
export async function removeAbandoned(folder: string, prefix: string): Promise<void> {
  for (const name of await readdir(folder).catch(() => [])) {
    if (!name.startsWith(prefix)) continue
    const [number, born] = name.slice(prefix.length).split('-')
    if (bornAt(Number(number)) !== born) await remove(join(folder, name))
  }
}

// An initdb that outlived its service may still write there. It ends when its files are gone, and then the folder can be removed.
async function remove(path: string, attempts = 20): Promise<void> {
  try {
    await rm(path, { recursive: true, force: true })
  } catch {
    if (attempts === 1) return
    await sleep(50)
    await remove(path, attempts - 1)
  }
}
