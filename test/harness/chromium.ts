import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { requireCommand } from './debian-package.ts'

/** The one without windows takes half the processor time, and is installed where there is none. */
const BROWSERS = ['chromium-headless-shell', 'chromium'] as const

const run = promisify(execFile)
const pathOf = (command: string) =>
  run('which', [command]).then(
    ({ stdout }) => stdout.trim(),
    () => undefined,
  )

export async function browserPath(): Promise<string> {
  for (const command of BROWSERS) {
    const path = await pathOf(command)
    if (path !== undefined) return path
  }
  await requireCommand(BROWSERS[0])
  return (await pathOf(BROWSERS[0]))!
}

// Of the machine's network it needs nothing but the pages of the test.
const FLAGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--disable-dev-shm-usage',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

const SLOWEST_MS = 60_000

const pageOf = (script: string) => `<!doctype html>
<meta charset="utf-8"><title>test</title><link rel="icon" href="data:,">
<script type="module">
const run = async () => {
${script}
}
const result = await run().catch(error => ({ failed: String(error) }))
await fetch('/result', { method: 'POST', body: JSON.stringify(result) })
</script>`

/**
 * Runs a script in Chromium, in a page of an origin of its own. `script`: the body of an async function. Returns what it returns, as JSON; a rejection is
 * `{ failed }`.
 */
export async function inBrowser(script: string): Promise<unknown> {
  const path = await browserPath()
  const { promise: result, resolve, reject } = Promise.withResolvers<unknown>()
  const server = createServer((request, answer) => {
    if (request.method !== 'POST') return void answer.setHeader('Content-Type', 'text/html').end(pageOf(script))
    const chunks: Buffer[] = []
    request.on('data', chunk => chunks.push(chunk))
    request.on('end', () => {
      answer.end()
      resolve(JSON.parse(Buffer.concat(chunks).toString()))
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const profile = await mkdtemp(join(tmpdir(), 'perennial-chromium-'))
  const { port } = server.address() as AddressInfo
  const browser = spawn(path, [...FLAGS, `--user-data-dir=${profile}`, `http://localhost:${port}/`], {
    stdio: 'ignore',
    detached: true,
  })
  const ended = once(browser, 'exit')
  const late = setTimeout(() => reject(new Error('the page has told nothing')), SLOWEST_MS)
  try {
    return await result
  } finally {
    clearTimeout(late)
    // With all of its processes.
    process.kill(-browser.pid!, 'SIGKILL')
    await ended
    server.closeAllConnections()
    server.close()
    await rm(profile, { recursive: true, force: true, maxRetries: 5 })
  }
}
