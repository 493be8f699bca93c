import { configDefaults, defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

const LONG = [
  'contract/boundaries',
  'contract/fuzz',
  'crash/',
  'engine/bullmq',
  'exports/erasure.',
  'figures/active-users',
  'figures/behind.',
  'figures/card',
  'figures/cdnow',
  'figures/charts',
  'figures/cohorts',
  'figures/disk-full',
  'figures/laws',
  'isolation/isolation',
  'plans/without',
  'reports/slots',
  'store-facts/orders',
  'stores/convergence',
  'stores/isolation',
  'stores/walk-through',
  'v3/store-purchases',
]

/** What takes longest comes first: a new machine knows no durations, and would end with one of them while its processors have nothing to do. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isLong = ({ moduleId }: TestSpecification) => LONG.some(name => moduleId.includes(`/test/${name}`))
    const sorted = await super.sort(files)
    return [...sorted.filter(isLong), ...sorted.filter(file => !isLong(file))]
  }
}

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // Killed processes ask little of the runtime and take 40 % of the time: on Deno one file of them, with fewer kills. The plans that
    // Postgres makes do not depend on the runtime, and on Deno a COPY stream cannot bear the notices that show them.
    exclude: [
      ...configDefaults.exclude,
      ...('Deno' in globalThis ? ['test/crash/!(kills).test.ts', 'test/plans/without-statistics.test.ts'] : []),
    ],
    globalSetup: ['test/harness/memory.ts', 'test/harness/redis-server.ts', 'test/harness/postgres.ts'],
    setupFiles: ['test/harness/each-file.ts'],
    reporters: ['default'],
    silent: 'passed-only',
    // Much of it waits: for leases, for time-outs, for other processes.
    maxWorkers: 3,
    // Every file has its own database; what is loaded and compiled serves the next one (a third of the time of the suite).
    isolate: false,
    sequence: { sequencer: LongestFirst },
    testTimeout: 90_000,
    hookTimeout: 120_000,
  },
})
