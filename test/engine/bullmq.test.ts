import { readdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { useBullmq } from '../harness/queue.ts'

// The suite of the engine once more, over the other driver: whatever stands beside this file. By a name of its own: a file that this
// process has run already would not be run again.
const redis = useBullmq()
for (const file of readdirSync(import.meta.dirname)) {
  if (!file.endsWith('.test.ts') || file === basename(import.meta.filename)) continue
  describe(file, () => import(/* @vite-ignore */ `${join(import.meta.dirname, file)}?over-bullmq`) as Promise<never>)
}

test('the rings went through Redis', async () => {
  expect(await redis().ask('DBSIZE')).toMatch(/^:[1-9]/)
})
