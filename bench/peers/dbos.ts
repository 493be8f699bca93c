import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Ground } from '../ground.ts'
import { median, say } from '../report.ts'

const WORKFLOWS = 1_500

export type DbosRounds = { version: string; setting: string; rates: number[] }

/** DBOS Transact on the same server, in a process of its own: the rounds of its best setting. */
export async function dbosRounds(ground: Ground, database: string, rounds: number): Promise<DbosRounds> {
  const script = new URL('dbos.mjs', import.meta.url).pathname
  const child = spawn(process.execPath, [script, database, String(WORKFLOWS), String(rounds)], { stdio: ['ignore', 'pipe', 'inherit'] })
  ground.undo(async () => void child.kill('SIGKILL'))
  let said = ''
  child.stdout.on('data', chunk => {
    said += chunk
  })
  await once(child, 'exit')
  const settings = new Map<string, DbosRounds>()
  for (const line of said.split('\n').filter(text => text.startsWith('{'))) {
    const { version, setting, rate } = JSON.parse(line) as { version: string; setting: string; rate: number }
    const one = settings.get(setting) ?? { version, setting, rates: [] }
    one.rates.push(rate)
    settings.set(setting, one)
    say(`  DBOS ${version}, ${setting}: ${Math.round(rate)} workflows/s`)
  }
  const best = [...settings.values()].sort((a, b) => median(b.rates) - median(a.rates))[0]
  if (!best) throw new Error(`DBOS measured nothing:\n${said}`)
  return best
}
