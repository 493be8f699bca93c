import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Resources } from './resources.ts'

export type Program = { name: string; script: URL; args?: string[]; env?: Record<string, string>; ready: RegExp }

/** A process that has printed its ready line; `match`: that line. `stop`: SIGTERM, and SIGKILL after STOP_LIMIT_MS. */
export type Running = { pid: number; match: RegExpMatchArray; stop(): Promise<void> }

const READY_LIMIT_MS = 60_000
const STOP_LIMIT_MS = 15_000

/**
 * Starts a script in its own process, with its output in a file as in production: with a pipe the process of the bench would work for
 * every line of the log.
 */
export async function run(resources: Resources, { name, script, args = [], env = {}, ready }: Program): Promise<Running> {
  const log = join(resources.folder, `${name}-${process.hrtime.bigint()}.log`)
  const out = openSync(log, 'w')
  const child = spawn(process.execPath, [script.pathname, ...args], {
    env: { PATH: process.env.PATH, DRAIN_SECONDS: '0', ...profiled(), ...env },
    stdio: ['ignore', out, out],
  })
  closeSync(out)
  const ended = new Promise<void>(resolve => {
    child.once('exit', () => resolve())
    child.once('error', () => resolve())
  })
  let hasEnded = false
  void ended.then(() => {
    hasEnded = true
  })
  const stop = () => end(child, ended)
  resources.undo(stop)
  const limit = performance.now() + READY_LIMIT_MS
  while (!hasEnded && performance.now() < limit) {
    const match = (await readFile(log, 'utf8')).match(ready)
    if (match) return { pid: child.pid!, match, stop }
    await sleep(20)
  }
  throw new Error(`${name} did not become ready:\n${(await readFile(log, 'utf8')).slice(-2000)}`)
}

/** With BENCH_PROFILE=FOLDER every process writes a profile of its processor time there when it ends; `bench/profile.ts` sums them up. */
const profiled = (): Record<string, string> =>
  process.env.BENCH_PROFILE ? { NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${process.env.BENCH_PROFILE}` } : {}

async function end(child: ChildProcess, ended: Promise<void>): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return
  child.kill('SIGTERM')
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_LIMIT_MS)
  await ended
  clearTimeout(timer)
}
