import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { BaseSequencer, type Reporter, type TestModule, type TestSpecification } from 'vitest/node'

const FILE = new URL('../durations.json', import.meta.url)
/** A file that takes less than so many seconds fits in anywhere, and runs in each turn. */
const SHORT = 3
/** One that takes at least so many runs in one of so many turns. The longest class comes first. */
const CLASSES = [
  { from: 8, turns: 6 },
  { from: SHORT, turns: 4 },
]
const SHOWN = 20

type Durations = Record<string, number>
const known = (): Durations => JSON.parse(readFileSync(FILE, 'utf8'))

/** The path of a test file in its folder, as `crash/points`. */
const nameOf = (moduleId: string): string => moduleId.replace(/^.*\/test\//, '').replace(/\.test\.ts$/, '')

/**
 * What takes longest comes first: a new machine knows no durations, and would end with one long file while its processors have nothing to
 * do. The durations are kept beside the tests; a run with TEST_DURATIONS=write adds its own.
 */
export class LongestFirst extends BaseSequencer {
  readonly #seconds = known()

  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const seconds = ({ moduleId }: TestSpecification) => this.#seconds[nameOf(moduleId)] ?? 0
    // Equal ones stay as vitest orders them.
    return (await super.sort(files)).sort((a, b) => seconds(b) - seconds(a))
  }
}

/** The names in the order of their folders, a part for each turn: of neighbours each turn gets one, the longest one that with the least so far. */
function shares(names: string[], turns: number, seconds: Durations): string[][] {
  const parts = Array.from({ length: turns }, () => ({ names: [] as string[], seconds: 0 }))
  for (let from = 0; from < names.length; from += turns) {
    const neighbours = names.slice(from, from + turns).sort((a, b) => seconds[b]! - seconds[a]!)
    for (const [n, part] of parts
      .toSorted((a, b) => a.seconds - b.seconds)
      .slice(0, neighbours.length)
      .entries()) {
      part.names.push(neighbours[n]!)
      part.seconds += seconds[neighbours[n]!]!
    }
  }
  return parts.map(part => part.names)
}

/**
 * The long files that do not run in this turn, so that each turn runs a part of every folder, in about the same time, and a few turns all of it. Who
 * names a file, or tries all (TEST_EFFORT=1), runs them.
 */
export function resting(turn: number, seconds: Durations = known()): string[] {
  const classOf = (name: string) => CLASSES.find(({ from }) => seconds[name]! >= from)
  return CLASSES.flatMap(one => {
    const names = Object.keys(seconds).filter(name => classOf(name) === one)
    return shares(names.sort(), one.turns, seconds).flatMap((part, n) => (n === turn % one.turns ? [] : part))
  })
}

type Ran = { name: string; seconds: number; passed: boolean }

/** What was known, with what was measured since: a file that fails may have ended early. What `exists` no more is left out. */
export function merged(before: Durations, ran: Ran[], exists: (name: string) => boolean): Durations {
  const measured = ran.filter(({ passed }) => passed).map(({ name, seconds }) => [name, seconds] as const)
  const all = Object.entries({ ...before, ...Object.fromEntries(measured) })
  return Object.fromEntries(all.filter(([name, seconds]) => seconds >= SHORT && exists(name)).sort((a, b) => b[1] - a[1]))
}

const exists = (name: string): boolean => existsSync(new URL(`../${name}.test.ts`, import.meta.url))

/** Shows the slowest files at the end of a run of many. */
export class Slowest implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const ran = modules
      .map(module => {
        const { duration, collectDuration, setupDuration } = module.diagnostic()
        const seconds = Math.round((duration + collectDuration + setupDuration) / 1000)
        return { name: nameOf(module.moduleId), seconds, passed: module.state() === 'passed' }
      })
      .sort((a, b) => b.seconds - a.seconds)
    if (ran.length > SHOWN) {
      console.log(`\n TEST_TURN=${process.env.TEST_TURN}. The ${SHOWN} slowest files, in seconds`)
      for (const { name, seconds } of ran.slice(0, SHOWN)) console.log(`${String(seconds).padStart(6)}  ${name}`)
    }
    // Deno runs fewer files, with less that is drawn at random.
    if (process.env.TEST_DURATIONS !== 'write' || 'Deno' in globalThis) return
    writeFileSync(FILE, `${JSON.stringify(merged(known(), ran, exists), null, 2)}\n`)
  }
}
