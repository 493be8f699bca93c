import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { residentMemory } from './path/memory.ts'
import { type BareStart, bareStart } from './peers/bare.ts'
import { median, option, type Result, round, say, table } from './report.ts'
import { type Resources, withResources } from './resources.ts'

const LIMIT_MS = 60_000

/** `npm start` without configuration, on an empty folder and on that folder again, beside initdb and start of the same server by hand. */
export const bench = (): Promise<Result> =>
  withResources(async resources => {
    const rounds = option('rounds', 5)
    const empty: number[] = []
    const existing: number[] = []
    const bare: BareStart[] = []
    for (let n = 1; n <= rounds; n++) {
      bare.push(await bareStart(resources, `bare-${n}`))
      const dataDir = join(resources.folder, `data-${n}`)
      empty.push((await startOnce(resources, dataDir)).seconds)
      existing.push((await startOnce(resources, dataDir)).seconds)
      const { initdb, firstQuery } = bare.at(-1)!
      say(
        `  round ${n}: bare ${round(initdb + firstQuery, 2)} s, empty ${round(empty.at(-1)!, 2)} s, existing ${round(existing.at(-1)!, 2)} s`,
      )
    }
    const of = (seconds: (start: BareStart) => number) => median(bare.map(seconds))
    const [ours, again] = [median(empty), median(existing)]
    const [initdb, start, both] = [of(b => b.initdb), of(b => b.firstQuery), of(b => b.initdb + b.firstQuery)]

    console.log(`npm start without configuration, ${rounds} rounds`)
    table(
      ['', 'seconds', 'more than bare'],
      [
        ['bare: initdb', initdb.toFixed(2), ''],
        ['bare: start to first query', start.toFixed(2), ''],
        ['bare: both', both.toFixed(2), ''],
        ['Perennial, empty folder to ready', ours.toFixed(2), (ours - both).toFixed(2)],
        ['Perennial, existing folder to ready', again.toFixed(2), (again - start).toFixed(2)],
      ],
    )
    return {
      name: 'start',
      ours: round(ours, 2),
      peer: round(both, 2),
      ratio: round(ours / both, 2),
      unit: 's',
      more: round(ours - both, 2),
      existing: round(again, 2),
    }
  })

/**
 * Seconds from the start of the process to its ready line, and its memory then (Linux; 0 elsewhere). Stops the process and its embedded server
 * afterwards.
 */
export async function startOnce(
  resources: Resources,
  dataDir: string,
  env: Record<string, string> = {},
): Promise<{ seconds: number; megabytes: number }> {
  const began = performance.now()
  const child = spawn(process.execPath, [new URL('../start.mjs', import.meta.url).pathname], {
    env: { PATH: process.env.PATH, PORT: '0', DATA_DIR: dataDir, CONSOLE: 'off', ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = new Promise<void>(resolve => child.once('exit', () => resolve()))
  const stop = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGTERM')
    await ended
  }
  resources.undo(stop)
  const seconds = await new Promise<number>((resolve, reject) => {
    let output = ''
    const timer = setTimeout(() => reject(new Error(`not ready after ${LIMIT_MS / 1000} s:\n${output}`)), LIMIT_MS)
    child.stdout.on('data', chunk => {
      output += chunk
      if (!output.includes('Perennial is ready')) return
      clearTimeout(timer)
      resolve((performance.now() - began) / 1000)
    })
    void ended.then(() => reject(new Error(`the process ended before it was ready:\n${output}`)))
  })
  const megabytes = await residentMemory(child.pid!)
  await stop()
  return { seconds, megabytes }
}
