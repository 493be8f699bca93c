import { setTimeout as pause } from 'node:timers/promises'
import { expectAllExecutedOnce, type Installation } from './installation.ts'
import { endLoad, moreLoad, noLoad, settled } from './load.ts'
import { patient } from './patient.ts'

/** `whenUsed`: resolves when what was hurt is in use again. */
export type Hurt = () => Promise<{ whenUsed: Promise<unknown> }>

/**
 * `repeats`: how often the receiver has got an id again. Where processors are free there are none, unless a record was lost with its server; a
 * machine with too much work loses leases, and each repeat is then an attempt that is recorded.
 */
export type Outcome = { events: number; repeats: number; slowestMs: number; usedAgainMs: number }

const PERIOD_MS = 250
const ROUNDS_BEFORE = 12
const ROUNDS_AFTER = 20
const SETTLED_MS = 240_000

/**
 * Sends events at an even pace, by a client that repeats what was not acknowledged, and in the middle of it hurts what the installation stands
 * on. Afterwards every acknowledged event has had its run and its deliveries, each under one id.
 */
export async function evenLoad(site: Installation, hurt: Hurt): Promise<Outcome> {
  const call = patient(site.call)
  const load = noLoad()
  let slowestMs = 0
  let round = 0
  const rounds = async (isOver: (done: number) => boolean) => {
    for (let done = 0; !isOver(done); done++) {
      const began = performance.now()
      await moreLoad(call, load, round++)
      slowestMs = Math.max(slowestMs, performance.now() - began)
      await pause(Math.max(0, PERIOD_MS - (performance.now() - began)))
    }
  }
  await rounds(done => done >= ROUNDS_BEFORE)
  slowestMs = 0
  const began = performance.now()
  const { whenUsed } = await hurt()
  let usedAgainMs: number | undefined
  const used = whenUsed.then(() => {
    usedAgainMs = performance.now() - began
  })
  await Promise.all([used, rounds(done => done >= ROUNDS_AFTER && usedAgainMs !== undefined)])
  await endLoad(call, load)
  await settled(site.pool, SETTLED_MS)
  await expectAllExecutedOnce({ ...site, call }, load)
  return { events: load.events.size, repeats: repeats(site), slowestMs: Math.round(slowestMs), usedAgainMs: Math.round(usedAgainMs!) }
}

function repeats({ sink }: Installation): number {
  const ids = sink.received.filter(({ body }) => body.test !== true).map(({ id }) => id)
  return ids.length - new Set(ids).size
}
