import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Resources } from '../resources.ts'

/** The process of the bench's private server; null with BENCH_DATABASE_URL, whose processor time cannot be read. */
export async function serverPid({ folder }: Resources): Promise<number | null> {
  if (process.env.BENCH_DATABASE_URL) return null
  const text = await readFile(join(folder, 'server', 'postgres', 'postmaster.pid'), 'utf8')
  return Number(text.split('\n')[0])
}
