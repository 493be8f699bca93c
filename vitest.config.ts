import { configDefaults, defineConfig } from 'vitest/config'
import { parseCLI } from 'vitest/node'
import { NEVER_ON_DENO, ON_DENO } from './test/deno.ts'
import { LongestFirst, Slowest } from './test/harness/durations.ts'

const ALL = ['test/**/*.test.ts']
/** A part of a path on the command line, as `stores/apple` or `test/x.test.ts:40`: all files are searched for it. */
const isNamed = parseCLI(['vitest', ...process.argv.slice(2)], { allowUnknownOptions: true }).filter.length > 0
const filesOf = (names: string[]): string[] => names.map(name => `test/${name}.test.ts`)
const isDeno = 'Deno' in globalThis
/** What takes minutes in a browser is run by name: `npm run test:console`. */
const BY_NAME = [
  'console/automations',
  'console/catalogue',
  'console/states',
  'console/stories',
  'console/charts',
  'console/customers',
  'console/project-pages',
  'console/runs',
  'console/reports',
  'console/integrations',
  'console/promises',
  'console/segments',
  'console/experiments',
  'console/screens',
]

// Of this hour: see test/harness/effort.ts.
process.env.TEST_TURN ??= String(Math.floor(Date.now() / 3_600_000))

export default defineConfig({
  test: {
    include: isDeno && !isNamed ? filesOf(Object.values(ON_DENO).flat()) : ALL,
    exclude: [...configDefaults.exclude, ...(isDeno ? filesOf(NEVER_ON_DENO) : []), ...(isNamed ? [] : filesOf(BY_NAME))],
    globalSetup: ['memory', 'redis-server', 'postgres', 'debian-postgres', 'built'].map(name => `test/harness/${name}.ts`),
    setupFiles: ['test/harness/each-file.ts'],
    reporters: ['default', new Slowest()],
    silent: 'passed-only',
    // Much of it waits: for leases, for time-outs, for other processes.
    maxWorkers: 3,
    // Less collecting of garbage: a twelfth of the processor time of the tests.
    execArgv: isDeno ? [] : ['--max-semi-space-size=64'],
    // Every file has its own database; what is loaded and compiled serves the next one (a third of the time of the suite).
    isolate: false,
    sequence: { sequencer: LongestFirst },
    testTimeout: 90_000,
    hookTimeout: 120_000,
  },
})
