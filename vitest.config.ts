import { configDefaults, defineConfig } from 'vitest/config'
import { parseCLI } from 'vitest/node'
import { NEVER_ON_DENO, ON_DENO } from './test/deno.ts'
import { LongestFirst, Slowest } from './test/harness/durations.ts'

const ALL = ['test/**/*.test.ts']
/** A part of a path on the command line, as `stores/apple` or `test/x.test.ts:40`: all files are searched for it. */
const isNamed = parseCLI(['vitest', ...process.argv.slice(2)], { allowUnknownOptions: true }).filter.length > 0
const filesOf = (names: string[]): string[] => names.map(name => `test/${name}.test.ts`)
const isDeno = 'Deno' in globalThis
/** What takes minutes is run by name: in a browser by `npm run test:console`, whole installations by `npm run test:production`. */
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
  'production/narrow-pooler',
  'production/rolling-restart',
  'production/restore-drill',
  'production/upgrade',
  'production/postgres-failover',
  'production/postgres-pooler',
  'production/redis-cluster',
  'production/redis-sentinel',
  'production/chart',
  'production/image',
  'production/release',
  'production/walk',
]

// Of this hour: see test/harness/effort.ts.
process.env.TEST_TURN ??= String(Math.floor(Date.now() / 3_600_000))
const turn = Number(process.env.TEST_TURN)

/**
 * Files that take long and are akin: one of each group in one hour, the next in the next. Who names a file, or tries all (TEST_EFFORT=1), runs it.
 */
const GROUPS: string[][] = [
  ['crash/export', 'crash/reports', 'crash/s3'],
  ['crash/service', 'crash/postgres', 'crash/stores'],
  ['crash/pulls', 'crash/erasure', 'crash/rebuild'],
  ['crash/frozen-pools', 'crash/frozen', 'crash/receivers'],
  ['crash/deliveries', 'crash/clock-jump', 'crash/facts'],
  ['crash/report-charts', 'crash/known-answers'],
  ['crash/kills', 'crash/points', 'crash/redis'],
  ['crash/redis-load', 'engine/bullmq', 'engine/silence'],
  ['reporting/exports/erasure', 'reporting/exports/erasure-faults', 'reporting/exports/changes'],
  ['reporting/reports/slots', 'reporting/reports/together'],
  ['console/figures', 'console/overview'],
  ['operators/browser', 'docs/browser'],
  ['embedded/npm-start', 'embedded/join', 'embedded/account'],
  ['mcp/scopes', 'mcp/direct', 'api/scopes'],
  ['contract/boundaries', 'contract/fuzz', 'contract/valid'],
  ['api/sandbox-reset', 'scenario/sandbox-reset', 'api/clock-races'],
  ['cli/stores-replay', 'cli/stores-check', 'cli/stores-import'],
  ['analytics/figures/cdnow', 'analytics/figures/laws', 'analytics/figures/disk-full', 'analytics/figures/active-users'],
  ['plans/without-statistics', 'plans/set-aside', 'plans/callers-while-growing', 'plans/beside-waiting-jobs'],
  ['purchases/stores/isolation', 'purchases/stores/walk-through', 'purchases/stores/convergence'],
  ['purchases/stores/ended-grace', 'purchases/stores/owners-by-store', 'purchases/refunds'],
  ['purchases/stores/invoice-money', 'purchases/store-facts/orders', 'purchases/history'],
  ['purchases/customer-facts', 'purchases/stores/replaced-token'],
]
const isWhole = Number(process.env.TEST_EFFORT) >= 1
const notNow = isNamed || isDeno || isWhole ? [] : GROUPS.flatMap(group => group.filter((_, i) => i !== turn % group.length))

export default defineConfig({
  test: {
    include: isDeno && !isNamed ? filesOf(Object.values(ON_DENO).flat()) : ALL,
    exclude: [...configDefaults.exclude, ...filesOf([...(isDeno ? NEVER_ON_DENO : []), ...(isNamed ? [] : BY_NAME), ...notNow])],
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
