import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/harness/redis-server.ts', 'test/harness/postgres.ts'],
    reporters: ['default'],
    silent: 'passed-only',
    // Much of it waits: for leases, for time-outs, for other processes.
    maxWorkers: 3,
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
})
