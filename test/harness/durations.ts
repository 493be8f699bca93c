import { readFileSync, writeFileSync } from 'node:fs'
import { BaseSequencer, type Reporter, type TestModule, type TestSpecification } from 'vitest/node'

const FILE = new URL('../durations.json', import.meta.url)
/** A file that takes less than so many seconds fits in anywhere. */
const SHORT = 5
const SHOWN = 20

/** The path of a test file in its folder, as `crash/points`. */
const nameOf = (moduleId: string): string => moduleId.replace(/^.*\/test\//, '').replace(/\.test\.ts$/, '')

/**
 * What takes longest comes first: a new machine knows no durations, and would end with one long file while its processors have nothing to
 * do. The durations are kept beside the tests; a run with TEST_DURATIONS=write keeps its own.
 */
export class LongestFirst extends BaseSequencer {
  readonly #seconds: Record<string, number> = JSON.parse(readFileSync(FILE, 'utf8'))

  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const seconds = ({ moduleId }: TestSpecification) => this.#seconds[nameOf(moduleId)] ?? 0
    // Equal ones stay as vitest orders them.
    return (await super.sort(files)).sort((a, b) => seconds(b) - seconds(a))
  }
}

/** Shows the slowest files at the end of a run of many. */
export class Slowest implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const timed = modules
      .map(module => {
        const { duration, collectDuration, setupDuration } = module.diagnostic()
        return [nameOf(module.moduleId), Math.round((duration + collectDuration + setupDuration) / 1000)] as const
      })
      .sort((a, b) => b[1] - a[1])
    if (timed.length > SHOWN) {
      console.log(`\n The ${SHOWN} slowest files, in seconds`)
      for (const [name, seconds] of timed.slice(0, SHOWN)) console.log(`${String(seconds).padStart(6)}  ${name}`)
    }
    if (process.env.TEST_DURATIONS !== 'write') return
    const long = timed.filter(([, seconds]) => seconds >= SHORT)
    writeFileSync(FILE, `${JSON.stringify(Object.fromEntries(long), null, 2)}\n`)
  }
}
