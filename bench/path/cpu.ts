import { readdir, readFile } from 'node:fs/promises'

/** Of Linux on every processor that the benches run on. */
const TICKS_A_SECOND = 100

type Stat = { pid: number; parent: number; own: number; ofEnded: number }

async function statOf(pid: number): Promise<Stat | null> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null)
  if (text === null) return null
  // The name of the command stands in parentheses and may have spaces.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  const sum = (first: number) => (Number(fields[first]) + Number(fields[first + 1])) / TICKS_A_SECOND
  return { pid, parent: Number(fields[1]), own: sum(11), ofEnded: sum(13) }
}

/** Seconds of processor time that the processes and all that they have started have used so far. */
export async function processorSeconds(roots: readonly number[]): Promise<number> {
  const pids = (await readdir('/proc')).filter(name => /^\d+$/.test(name)).map(Number)
  const stats = (await Promise.all(pids.map(statOf))).filter(stat => stat !== null)
  const children = Map.groupBy(stats, ({ parent }) => parent)
  const byPid = new Map(stats.map(stat => [stat.pid, stat]))
  const sumOf = (pid: number): number => {
    const stat = byPid.get(pid)
    const below = (children.get(pid) ?? []).reduce((sum, child) => sum + sumOf(child.pid), 0)
    return below + (stat ? stat.own + stat.ofEnded : 0)
  }
  return roots.reduce((sum, pid) => sum + sumOf(pid), 0)
}
