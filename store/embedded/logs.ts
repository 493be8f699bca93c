import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'

/** Removes all but the newest log files of the server: Postgres begins a new one every 10 MB and removes none. Their names sort by time. */
export async function pruneLogs(cluster: string, keep = 5): Promise<void> {
  const folder = join(cluster, 'log')
  const names = (await readdir(folder).catch(() => [])).filter(name => /^postgres-.*\.log$/.test(name)).sort()
  for (const name of names.slice(0, -keep)) await rm(join(folder, name), { force: true }).catch(() => undefined)
}
