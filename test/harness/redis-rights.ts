import { readFileSync } from 'node:fs'

const guide = readFileSync(new URL('../../docs/high-availability.md', import.meta.url), 'utf8')

/** What the guide gives to the user of a service: on a Redis that keeps its queues, and on a sentinel. As rules of ACL. */
const rights = (n: number): string => [...guide.matchAll(/^user perennial on >PASSWORD (.+)$/gm)][n]![1]!
export const [QUEUE_RIGHTS, SENTINEL_RIGHTS] = [rights(0), rights(1)]
