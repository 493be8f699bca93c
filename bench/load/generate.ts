import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import type { Resources } from '../resources.ts'

/** A GET unless told. `[<id>]` in the body is another word in each request. */
export type PageRequest = { path: string; headers: Record<string, string>; method?: 'POST'; body?: string }
export type Load = { url: string; seconds: number; connections: number; requests: PageRequest[] }
/** Times in milliseconds. */
export type Figures = { perSecond: number; p50: number; p95: number; p99: number; responses: number }

/** Puts a server under load for some seconds. Throws when a response is not 200. */
export async function generate(resources: Resources, load: Load): Promise<Figures> {
  const child = spawn(process.execPath, [new URL('generate.mjs', import.meta.url).pathname], { stdio: ['pipe', 'pipe', 'inherit'] })
  resources.undo(async () => void child.kill('SIGKILL'))
  child.stdin.on('error', () => {})
  child.stdin.end(JSON.stringify(load))
  const output = await text(child.stdout)
  if (output === '') throw new Error('the load generator ended without a figure')
  const { failures, ...figures } = JSON.parse(output) as Figures & { failures: [string, number][] }
  if (failures.length > 0 || figures.responses === 0)
    throw new Error(
      `responses of ${load.url} that are not 200: ${failures.map(([status, count]) => `${count} × ${status}`).join(', ') || 'no response'}`,
    )
  return figures
}
