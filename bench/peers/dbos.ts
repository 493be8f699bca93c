import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { say } from '../report.ts'
import type { Resources } from '../resources.ts'

const WORKFLOWS = 1_500

/** Workflows a second, by setting. */
export type Rates = Map<string, number>
/** `round`: measures each setting once. `pause`: stops the process (SIGSTOP), so that it takes no time from the other sides. */
export type Dbos = { version: string; round(): Promise<Rates>; pause(): void; resume(): void }

type Line = { version: string } | { setting: string; rate: number } | { round: 'over' }

/** Starts DBOS Transact on the same server, in its own process. */
export async function startDbos(resources: Resources, database: string): Promise<Dbos> {
  const script = new URL('dbos.mjs', import.meta.url).pathname
  const child = spawn(process.execPath, [script, database, String(WORKFLOWS)], { stdio: ['pipe', 'pipe', 'inherit'] })
  resources.undo(async () => void child.kill('SIGKILL'))
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  const next = async (): Promise<Line> => {
    const { value, done } = await lines.next()
    if (done) throw new Error('DBOS has ended')
    return value.startsWith('{') ? JSON.parse(value) : next()
  }
  const first = await next()
  if (!('version' in first)) throw new Error('DBOS did not print its version')
  return {
    version: first.version,
    async round() {
      const rates: Rates = new Map()
      child.stdin.write('round\n')
      for (let line = await next(); !('round' in line); line = await next()) {
        if (!('setting' in line)) continue
        rates.set(line.setting, line.rate)
        say(`  DBOS ${first.version}, ${line.setting}: ${Math.round(line.rate)} workflows/s`)
      }
      return rates
    },
    pause: () => void child.kill('SIGSTOP'),
    resume: () => void child.kill('SIGCONT'),
  }
}
