import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Ground } from '../ground.ts'
import { say } from '../report.ts'

const WORKFLOWS = 1_500

/** Workflows a second, by setting. */
export type DbosRates = { version: string; rates: Map<string, number> }

/** DBOS Transact on the same server, in a process of its own: one round of each setting, after one that does not count. */
export async function dbosRound(ground: Ground, database: string): Promise<DbosRates> {
  const script = new URL('dbos.mjs', import.meta.url).pathname
  const child = spawn(process.execPath, [script, database, String(WORKFLOWS), '1'], { stdio: ['ignore', 'pipe', 'inherit'] })
  ground.undo(async () => void child.kill('SIGKILL'))
  let said = ''
  child.stdout.on('data', chunk => {
    said += chunk
  })
  await once(child, 'exit')
  const measured: DbosRates = { version: '', rates: new Map() }
  for (const line of said.split('\n').filter(text => text.startsWith('{'))) {
    const { version, setting, rate } = JSON.parse(line) as { version: string; setting: string; rate: number }
    measured.version = version
    measured.rates.set(setting, rate)
    say(`  DBOS ${version}, ${setting}: ${Math.round(rate)} workflows/s`)
  }
  if (measured.rates.size === 0) throw new Error(`DBOS measured nothing:\n${said}`)
  return measured
}
