// The walk of examples/production, as somebody takes it who has a clone on a Debian machine, and root.
import { spawn } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import process from 'node:process'
import { expect, onTestFinished, test } from 'vitest'

const ROOT = join(import.meta.dirname, '../..')
const PARENT = '/var/tmp'
const STEPS = [
  'what is deployed is built',
  'it is started',
  'the first event and the first report arrive',
  'the Postgres primary is killed',
  'the Redis master is killed',
  'the last release is upgraded while it works',
  'backed up, destroyed and restored',
]
const LAST = /^The walk is done: 7 steps, (\d+) events, (\d+) webhooks, 0 lost, 0 twice, (\d+) repeated under their ids\.$/

const folders = async () => (await readdir(PARENT)).filter(name => name.startsWith('perennial-walk-'))

/** Commands of processes that work for a walk. */
async function commands(): Promise<string[]> {
  const pids = (await readdir('/proc')).filter(name => /^\d+$/.test(name))
  const all = await Promise.all(pids.map(pid => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')))
  return all.map(command => command.replaceAll('\0', ' ')).filter(command => command.includes('perennial-walk-'))
}

function walk(): Promise<{ code: number | null; out: string; notes: string }> {
  const { PATH = '', HOME = '', NODE_EXTRA_CA_CERTS } = process.env
  const env = { PATH, HOME, ...(NODE_EXTRA_CA_CERTS && { NODE_EXTRA_CA_CERTS }) }
  const child = spawn(join(ROOT, 'examples/production/walk.sh'), { cwd: ROOT, env, stdio: ['ignore', 'pipe', 'pipe'] })
  onTestFinished(() => void child.kill('SIGTERM'))
  let [out, notes] = ['', '']
  child.stdout.on('data', chunk => (out += chunk))
  child.stderr.on('data', chunk => (notes += chunk))
  return new Promise(done => child.once('close', code => done({ code, out, notes })))
}

test('the walk goes from the archive to the restore', { timeout: 2_400_000 }, async () => {
  const { code, out, notes } = await walk()
  console.info(out)
  expect({ code, notes }).toEqual({ code: 0, notes: '' })
  const lines = out.trim().split('\n')
  expect(lines.slice(0, -1).map(line => line.split(': ')[0])).toEqual(STEPS.map((title, n) => `${n + 1}. ${title}`))
  const [, events, webhooks] = LAST.exec(lines.at(-1)!)!
  // The script waits for 370 events between what it does. Each is sent as an event, and once more by the run that it starts.
  expect(Number(events)).toBeGreaterThan(370)
  expect(Number(webhooks)).toBe(2 * Number(events))
  // Nothing is left.
  expect([await folders(), await commands()]).toEqual([[], []])
})
