import { createHash, randomBytes } from 'node:crypto'
import { readdir, rm, stat } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { pid } from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'
import { bornAt } from './process.ts'

/** Machines and containers that share a folder have processes with the same numbers. A name of a machine may be long, and have dashes. */
const HERE = createHash('sha256').update(hostname()).digest('hex').slice(0, 8)
/** Whether a process elsewhere lives cannot be seen. None of them needs such a file for so long. */
const ELSEWHERE_MS = 24 * 3_600_000

/** A name that identifies its process, so that the file can be removed when the process died: prefix, machine, number and start of the process, random. */
export const temporaryName = (prefix: string): string => `${prefix}${HERE}-${pid}-${bornAt(pid)}-${randomBytes(4).toString('hex')}`

/** Removes from a folder what dead processes left under such names. What cannot be removed now is left to the next call. */
export async function removeAbandoned(folder: string, prefix: string): Promise<void> {
  for (const name of await readdir(folder).catch(() => [])) {
    if (!name.startsWith(prefix)) continue
    const path = join(folder, name)
    const parts = name.slice(prefix.length).split('-')
    // The first release named no machine.
    const machine = parts.length > 3 ? parts[0] : HERE
    const [number, born] = parts.slice(-3)
    const isAbandoned = machine === HERE ? bornAt(Number(number)) !== born : await isOld(path)
    if (isAbandoned) await remove(path)
  }
}

const isOld = (path: string): Promise<boolean> =>
  stat(path).then(
    ({ mtimeMs }) => Date.now() - mtimeMs > ELSEWHERE_MS,
    () => false,
  )

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
