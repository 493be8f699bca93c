import { existsSync } from 'node:fs'
import { defineConfig } from 'vitest/config'
import { ON_DENO } from './test/deno.ts'
import { LongestFirst, Slowest } from './test/harness/durations.ts'

const ALL = ['test/**/*.test.ts']
/** A file or folder of tests on the command line: of those, all are run. */
const isNamed = process.argv.slice(2).some(argument => /(^|\/)test\//.test(argument) && existsSync(argument))
const onDeno = Object.values(ON_DENO).flatMap(names => names.map(name => `test/${name}.test.ts`))

export default defineConfig({
  test: {
    include: 'Deno' in globalThis && !isNamed ? onDeno : ALL,
    globalSetup: ['test/harness/memory.ts', 'test/harness/redis-server.ts', 'test/harness/postgres.ts'],
    setupFiles: ['test/harness/each-file.ts'],
    reporters: ['default', new Slowest()],
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
