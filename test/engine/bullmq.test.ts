import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { useBullmq } from '../harness/queue.ts'

// The tests of the engine once more, over the other driver: the files beside this one in which a worker gets the queue of the test. Over
// another driver the other files would be the same tests. The query gives each file a name of its own: a file that this process has run
// already would not run again.
const USES_QUEUE = /testQueue\(|\.work\(|worker: true/
const redis = useBullmq()
const files = readdirSync(import.meta.dirname).filter(
  file => file.endsWith('.test.ts') && file !== 'bullmq.test.ts' && USES_QUEUE.test(readFileSync(join(import.meta.dirname, file), 'utf8')),
)
for (const file of files)
  describe(file, () => import(/* @vite-ignore */ `${join(import.meta.dirname, file)}?over-bullmq`) as Promise<never>)

test('the batches were announced through Redis', async () => {
  expect(files.length).toBeGreaterThanOrEqual(8)
  expect(await redis().execute('DBSIZE')).toMatch(/^:[1-9]/)
})
