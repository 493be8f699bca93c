import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/harness/redis-server.ts', 'test/harness/postgres.ts'],
    reporters: ['default'],
    silent: 'passed-only',
    // Much of it waits: for leases, for time-outs, for other processes.
    maxWorkers: 3,
    testTimeout: 90_000,
    hookTimeout: 120_000,
  },
})
