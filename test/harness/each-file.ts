import { afterAll } from 'vitest'
import { countAnew } from './events.ts'
import { killLeft } from './process.ts'

// Runs before each test file. The test files of one process share loaded modules: the counts of one file must not change the ids of the next.
countAnew()
afterAll(killLeft)
