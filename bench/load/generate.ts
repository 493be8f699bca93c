import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import type { Ground } from '../resources.ts'

export type Asked = { path: string; headers: Record<string, string> }
export type Load = { url: string; seconds: number; connections: number; requests: Asked[] }
/** Times in milliseconds. */
export type Figures = { perSecond: number; p50: number; p99: number; answers: number }

/** Puts a server under load for some seconds. Throws when any answer was not 200. */
export async function generate(ground: Ground, load: Load): Promise<Figures> {
  const child = spawn(process.execPath, [new URL('generate.mjs', import.meta.url).pathname], { stdio: ['pipe', 'pipe', 'inherit'] })
  ground.undo(async () => void child.kill('SIGKILL'))
  child.stdin.on('error', () => {})
  child.stdin.end(JSON.stringify(load))
  const said = await text(child.stdout)
  if (said === '') throw new Error('the load generator ended without a figure')
  const { failures, ...figures } = JSON.parse(said) as Figures & { failures: [string, number][] }
  if (failures.length > 0 || figures.answers === 0)
    throw new Error(
      `answers of ${load.url} that are not 200: ${failures.map(([status, count]) => `${count} × ${status}`).join(', ') || 'none came'}`,
    )
  return figures
}
