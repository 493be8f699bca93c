import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/harness/redis-server.ts', 'test/harness/postgres.ts'],
    setupFiles: ['test/harness/each-file.ts'],
    reporters: ['default'],
    silent: 'passed-only',
    // Much of it waits: for leases, for time-outs, for other processes.
    maxWorkers: 3,
    // Every file has its own database; what is loaded and compiled serves the next one (a third of the time of the suite).
    isolate: false,
    testTimeout: 90_000,
    hookTimeout: 120_000,
  },
})
